# ruff: noqa: E501 -- phrases are easier to read on one line
"""How answers say that a source does not help, by language."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["WORDINGS", "Wording"]


class Wording(NamedTuple):
    """Patterns of denials in one language."""

    joins: str
    """Between markers that are denied together."""
    after: str
    """The predicate after a marker."""
    before: str
    """The words before a marker."""


WORDINGS = {
    "en": Wording(
        r"and|or|nor|both|as well as",
        r"(?:also |only |just |still |actually |itself |alone |unfortunately |however,? |,? though,? )*"
        r"(?:(?:do(?:es)?|did|is|are|was|were|can|could|will|would|has|have)(?: not|n't|n’t)"
        r",?(?: (?:however|though|even|explicitly|directly|actually|really|specifically|clearly|of|any),?)*"
        r" (?:say|state|mention|contain|address|specify|provide|discuss|explain|cover|answer|help|give"
        r"|describe|list|name|support|include|refer|tell|indicate|show|reveal|clarify|note|identify"
        r"|relate|relevant|related|useful|helpful|about|applicable|concern|touch|offer|any help|what)"
        r"|says? nothing|contains? no(?:thing)?\b|(?:makes?|has|have) no (?:mention|reference|bearing"
        r"|information)|(?:mentions?|gives?|provides?|offers?) no(?:thing| (?:information|details?|answer))"
        r"|(?:is|are|was|were) (?:(?:entirely|completely|all|also|simply|merely|both|just|only) )*"
        r"(?:irrelevant|unrelated|off[- ]topic|silent|useless|unhelpful|of no (?:help|use)|no help"
        r"|about (?:something|other|another|a different|different|someone|somebody|unrelated))"
        r"|(?:deals?|concerns?|discuss(?:es)?|speaks?|talks?|covers?|relates?|refers?) (?:with |to |of |about )?"
        r"(?:only )?(?:something|other|another|different|someone|somebody|unrelated)"
        r"|fails? to|lacks?\b|omits?\b|leaves? (?:it |this |that )?open)",
        r"(?:not (?:\w+ )?(?:mentioned|stated|found|given|covered|addressed|specified|included|discussed"
        r"|described|contained|said|named|answered|explained|present|available|supported)"
        r"(?: anywhere)?(?: in| by)|no(?:thing| mention| reference| information| answer)"
        r"(?: \w+){0,4} in|neither|none of|unlike|contrary to|ignor(?:e|ing)|apart from what)",
    ),
    "de": Wording(
        r"und|oder|noch|sowie|bzw\.?",
        r"(?:auch |nur |leider |selbst |jedoch |aber )*"
        r"(?:(?:sag(?:t|en)|nenn(?:t|en)|erwähn(?:t|en)|enth(?:ält|alten)|beantworte(?:t|n)|erklär(?:t|en)"
        r"|beschreib(?:t|en)|geh(?:t|en)|hilft|helfen|gib(?:t|en)|geben|biete(?:t|n)|behandel(?:t|n)"
        r"|verr(?:ät|aten)|zeig(?:t|en)|liefer(?:t|n)|macht|machen)"
        r"(?: \w+){0,3}? (?:nicht|nichts|kein(?:e|en|er|es)?|niemanden)\b"
        r"|(?:wird|werden|ist|sind|steht|stehen|findet sich|finden sich)(?: \w+){0,4}? (?:nicht (?:erwähnt"
        r"|genannt|angegeben|beschrieben|behandelt|beantwortet|erklärt)|nichts? (?:dazu|darüber|davon))"
        r"|(?:ist|sind|war|waren) (?:\w+ )?(?:nicht (?:relevant|hilfreich|einschlägig)|irrelevant"
        r"|unerheblich|ohne Belang)"
        r"|(?:handel(?:t|n)|befass(?:t|en)|sprech(?:en)|spricht|geh(?:t|en)|betr(?:ifft|effen))"
        r"(?: sich)?(?: es)?(?: (?:von|um|über|mit))? (?:etwas|jemand|ander)\w*)",
        r"(?:(?:nicht|nichts|kein\w*|nirgends)(?: \w+){0,3} in|weder in|weder|keine der Quellen)",
    ),
    "fr": Wording(
        r"et|ou|ni|ainsi que",
        r"(?:aussi |également |,? (?:cependant|toutefois),? )*"
        r"(?:n['’e] ?\w+(?: \w+)?? (?:pas|rien|aucun\w*|nullement|point)\b|ne \w+ (?:pas|rien|aucun\w*)\b"
        r"|(?:est|sont|était|étaient) (?:hors sujet|sans rapport)"
        r"|(?:parl\w+|trait\w+|port\w+|concern\w+)(?: de| d['’]| sur)? ?(?:autre|d['’]autre|un autre)\w*)",
        r"(?:(?:pas|rien|aucune? \w+)(?: \w+){0,3} dans|ni)",
    ),
    "es": Wording(
        r"y|e|o|u|ni|así como",
        r"(?:también |tampoco |solo |,? sin embargo,? )*"
        r"(?:(?:no|nada|tampoco)(?: se| lo| la| nos)? (?:dic\w+|mencion\w+|contien\w+|explic\w+|indic\w+"
        r"|aclar\w+|respond\w+|especific\w+|trat\w+|ayud\w+|d[aá]n?\b|describ\w+|nombr\w+|aport\w+|habl\w+"
        r"|revel\w+|señal\w+|son? (?:relevante|útil|pertinente)s?|es\b|se refier\w+|inclu\w+)"
        r"|(?:tratan?|hablan?|versan?) (?:de|sobre) (?:otr|algo distint)\w*|(?:es|son) irrelevantes?)",
        r"(?:no (?:se )?(?:mencion|dic|encuentr|aparec|habl|indic|explic|especific)\w*(?: \w+){0,3} en|nada(?: \w+){0,3} en|ni)",
    ),
    "it": Wording(
        r"e|ed|o|né|nonché",
        r"(?:anche |neanche |solo |,? tuttavia,? )*"
        r"(?:non (?:ci |lo |ne |si )?(?:dic\w+|menzion\w+|contien\w+|contengono|spieg\w+|indic\w+"
        r"|chiar\w+|rispond\w+|specific\w+|tratt\w+|aiut\w+|d[aà]\b|danno|descriv\w+|nomin\w+|parl\w+"
        r"|riport\w+|(?:è|sono) (?:rilevant|util|pertinent)\w+|rivel\w+|fornisc\w+|inclu\w+)"
        r"|(?:tratta|trattano|parla|parlano) (?:di|d['’]) ?(?:altr|qualcos['’]altr)\w*|(?:è|sono) irrilevant\w+)",
        r"(?:non (?:si |è )?(?:menzion|dic|detto|trov|appar|parl|indic|spieg|specific)\w*(?: \w+){0,3} in|nulla(?: \w+){0,3} in|niente(?: \w+){0,3} in|né)",
    ),
    "pt": Wording(
        r"e|ou|nem|bem como",
        r"(?:também |tampouco |apenas |,? (?:porém|contudo),? )*"
        r"(?:(?:não|nada) (?:o |a |se |nos )?(?:di[zs]\w*|mencion\w+|cont[eêé]m|explic\w+|indic\w+"
        r"|esclarec\w+|respond\w+|especific\w+|trat\w+|ajud\w+|d[aáã]o?\b|descrev\w+|nomei\w+|fal\w+"
        r"|refer\w+|revel\w+|fornec\w+|inclu\w+|(?:é|são) (?:relevante|út|pertinente)\w*)"
        r"|(?:tratam?|falam?) (?:de|sobre) (?:outr|algo diferente)\w*|(?:é|são) irrelevantes?)",
        r"(?:não (?:se |é )?(?:mencion|di[zt]|encontr|aparec|fal|indic|explic|especific)\w*(?: \w+){0,3} em|nada(?: \w+){0,3} em|nem)",
    ),
    "nl": Wording(
        r"en|of|noch|evenals",
        r"(?:ook |alleen |helaas |echter )*"
        r"(?:(?:zeg(?:t|gen)|noem(?:t|en)|vermeld(?:t|en)?|bevat(?:ten)?|beantwoord(?:t|en)?|geef(?:t)|geven"
        r"|beschrijf(?:t)|beschrijven|help(?:t|en)|leg(?:t|gen)|behandel(?:t|en)|gaat|gaan|biedt|bieden|verklaart)"
        r"(?: \w+){0,3}? (?:niet|niets|geen|niemand)\b"
        r"|(?:is|zijn|was|waren) (?:\w+ )?(?:niet (?:relevant|nuttig)|irrelevant|niet van toepassing)"
        r"|(?:gaat|gaan|handelt|handelen) (?:over|om) (?:iets|iemand|een) ander\w*)",
        r"(?:(?:niet|niets|geen \w+|nergens)(?: \w+){0,3} in|noch|geen van)",
    ),
    "sv/da/no": Wording(
        r"och|og|eller|samt",
        r"(?:också |også |bara |kun |men )*"
        r"(?:(?:säger|nämner|innehåller|förklarar|besvarar|beskriver|anger|ger|hjälper|visar|siger|nævner"
        r"|indeholder|forklarer|besvarer|beskriver|angiver|giver|hjælper|viser|sier|nevner|inneholder|oppgir"
        r"|gir|hjelper)(?: \w+)?? (?:inte|ikke|ingen\w*|inget|inga|intet)\b"
        r"|(?:är|er) (?:inte relevant|ikke relevant\w*|irrelevant\w*)"
        r"|(?:handlar|handler) om (?:något|noget|noe|andra|andre|en annan)\w*)",
        r"(?:(?:inte|ikke|inget|intet|ingenting)(?: \w+){0,3} i|varken|hverken|verken)",
    ),
    "pl": Wording(
        r"i|oraz|ani|lub|albo",
        r"(?:też |także |tylko |jednak )*"
        r"(?:nie (?:mówi|wspomina|zawiera|podaje|wyjaśnia|odpowiada|opisuje|wymienia|dotyczy|pomaga|określa"
        r"|wskazuje|jest istotn|są istotn)\w*|(?:dotyczy|dotyczą|mówi|mówią)(?: o)? (?:czegoś|innego|innej|inn)\w*"
        r"|(?:jest|są) nieistotn\w+)",
        r"(?:nie (?:ma|wspom|mówi|podan|znalezi)\w*(?: \w+){0,3} w|nic(?: \w+){0,3} w|ani)",
    ),
    "ru": Wording(
        r"и|или|ни|а также",
        r"(?:также |тоже |только |однако )*"
        r"(?:не (?:говор|упомина|содерж|объясн|отвеча|указыва|опис|называ|помога|сообща|уточня|относ|каса)\w+"
        r"|ничего не \w+|(?:говорит|говорят|речь)(?: идёт| идет)? о (?:друг|чём-то|чем-то|ин)\w*"
        r"|(?:не )?(?:нерелевант|имеет отношения|имеют отношения)\w*)",
        r"(?:не (?:упом|сказан|говор|указан|найден)\w*(?: \w+){0,3} в|ничего(?: \w+){0,3} в|ни в|ни)",
    ),
    "zh/ja": Wording(
        r"和|与|及|以及|、|と|や|および",
        r"(?:也|都|并|均|は|も|には|では|に|が)*"
        r"(?:没有|沒有|并未|並未|未(?:提|说|說|涉|包)|不(?:包含|涉及|相关|相關|能|提)|与.{0,12}无关|無關|无关"
        r"|.{0,24}(?:述べて(?:い)?(?:ない|ません)|言及して(?:い)?(?:ない|ません)|書かれて(?:い)?(?:ない|ません)"
        r"|触れて(?:い)?(?:ない|ません)|含まれて(?:い)?(?:ない|ません)|関係(?:が)?(?:ない|ありません)|別の))",
        r"(?:(?:没有|沒有|未)(?:提到|出现|出現)?.{0,6}在)",
    ),
}
