"""Function words by language, as plain data.

Each language is one string in ordinary spelling; :mod:`hebbgraph.text.tokens` tokenizes it, so
the words equal the tokens of running text. The lists include a few adverbs that often open
sentences ("however", "later"), where their capital does not mark a name.
"""

from __future__ import annotations

STOP_WORDS: dict[str, str] = {
    "english": """
        a about above according accordingly across actually after afterwards again against ago
        all almost alone along already also although always am amid among amongst an and another
        any anyone anything anyway are aren't around as at away back based be became because
        become becomes been before began behind being below beside besides best better between
        beyond both but by came can can't cannot certain come comes could couldn't currently
        despite did didn't do does doesn't doing don't done down due during each earlier early
        eg either else enough especially et etc even eventually ever every everyone everything
        example except far few finally first firstly following for former formerly from further
        furthermore gave generally get gets give given gives go goes going gone got had hadn't
        has hasn't have haven't having he hence her here hers herself him himself his how however
        i ie if in include included includes including indeed initially instead into is isn't it
        its itself just kept know known largely last late later latter least less let like
        likely made mainly make makes making many may maybe me meanwhile might mine more
        moreover most mostly mr mrs ms much must my myself namely near nearly neither
        never nevertheless next no nobody none nor normally not nothing now nowhere of off often
        on once one ones only onto or originally other others otherwise our ours ourselves out
        outside over overall own part partly per perhaps please previously probably put quite
        rather really recently regarding s said same saw say says second seem seemed seems seen
        several shall she should shouldn't similar similarly simply since so some somebody
        someone something sometimes soon specifically still subsequently such t take taken takes
        than thank that the their theirs them themselves then there thereafter thereby therefore
        these they thing things third this those though three through throughout thus to today
        together too took toward towards two typically under unless unlike until up upon us use
        used uses using usually various very via vs was wasn't way we well went were weren't
        what whatever when whenever where whereas whereby wherein whether which while who whoever
        whole whom whose why will with within without won't would wouldn't yes yet you your yours
        yourself yourselves
    """,
    "german": """
        aber alle allem allen aller alles als also am an andere anderen auch auf aus bei beim bin
        bis bist da dabei dadurch daher damit danach dann daran darauf daraus das dass dazu dein
        deine dem den denn der deren des dessen die dies diese diesem diesen dieser dieses doch
        dort du durch ein eine einem einen einer eines er erst es etwa euch euer für gegen habe
        haben hat hatte hatten hier hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in
        indem ins ist ja jede jedem jeden jeder jedes jedoch jetzt kann kein keine keinen können
        konnte man manche mehr mein meine mit muss müssen nach nachdem nicht nichts noch nun nur
        ob oder ohne schon sehr sein seine seinem seinen seiner seit sich sie sind so sobald
        sogar solche soll sollte sondern sonst sowie über um und uns unser unter vom von vor
        während war waren warum was weil welche welcher wenn wer werden wie wieder will wir wird
        wo wurde wurden zu zum zur zwar zwischen
    """,
    "french": """
        à afin ai ainsi alors après au aucun aucune aujourd'hui aussi autre autres aux avait avant
        avec avoir c car ce cela celle celui ces cet cette ceux chaque chez comme comment contre d
        dans de déjà depuis des deux dont du elle elles en encore entre est et étaient était été
        être eu eux fait fut il ils j je jusqu l la là le les leur leurs lors lorsque lui m mais
        même mes moi moins mon n ne ni nos notre nous on ont ou où par parce pas pendant peu peut
        peuvent plus pour pourquoi puis qu quand que quel quelle quelques qui quoi s sa sans se
        selon sera ses si son sont sous sur ta tandis te tous tout toute toutes très trop tu un
        une vers vos votre vous y
    """,
    "spanish": """
        a al algo algunos ante antes aquel aquella aquí así aun aunque bajo bien cada como con
        contra cual cuales cuando cuya cuyo de del desde después donde dos durante e el él ella
        ellas ellos en entre era eran es esa esas ese eso esos esta está están estas este esto
        estos fue fueron ha había hacia han hasta hay la las le les lo los más me mediante menos
        mi mientras muy nada ni no nos nosotros nuestra nuestro o otra otras otro otros para pero
        poco por porque pues que qué quien se sea según ser si sí sido siempre sin sino sobre son
        su sus también tan tanto te tiene todo todos tras tu un una uno unos y ya yo
    """,
    "italian": """
        a ad agli ai al alla alle allo anche ancora avere aveva c che chi ci come con contro cosa
        così cui d da dagli dai dal dalla dalle dallo degli dei del dell della delle dello dentro
        di dopo dove due durante e è ed era erano essere fino fra fu furono gli ha hanno i il in
        invece io l la le lei li lo loro lui ma mentre mi molto ne negli nei nel nella nelle nello
        no noi non nostro o ogni oppure per perché più poco poi prima qua quale quali quando
        quanto quasi quella quelle quelli quello questa queste questi questo qui se sempre senza
        si sia sono sopra sotto stata stato su sua sue sugli sui sul sulla suo suoi tra tu tutti
        tutto un una uno verso voi
    """,
    "portuguese": """
        a ainda além ao aos após aquela aquele as às assim até cada com como contra da das de dela
        dele depois desde do dos durante e é ela elas ele eles em enquanto entre era eram essa
        esse esta está este eu foi foram há isso isto já lhe mais mas me mesmo meu minha muito na
        não nas nem no nos nossa nosso num numa o onde os ou para pela pelas pelo pelos por porque
        quando quanto que quem são se seja sem ser seu seus sido sob sobre sua suas também tem
        têm ter tinha todo todos tu um uma você
    """,
    "russian": """
        а без более больше будет будто бы был была были было быть в вам вас вдруг ведь во вот все
        всегда всего всех вы где да даже два для до его ее если есть еще ей ему ею же за здесь и
        из или им ими их к как какая какой когда которая которого которой которые который которых
        кто куда ли лишь между меня мне много может можно мой мы на над надо нас наш не него нее
        ней некоторые нельзя нет ни ними них но ну о об однако он она они оно от очень перед по
        под позже после потом потому почти при про с сам свое своего своей свой своих себя сейчас
        со совсем так также такие такой там тебя тем теперь то тогда того тоже той только том тот
        ту тут ты у уже хотя чего чем через что чтобы эта эти этих это этого этой этом этот эту я
    """,
    "greek": """
        αλλά αν από αυτά αυτές αυτή αυτό αυτοί αυτός αυτού για δεν δύο εγώ είναι είχε εκεί ένα
        έναν ένας επίσης εσύ έχει έχουν η ή ήταν θα κάθε και κατά μας με μετά μέχρι μη μην μια
        μία να ο οι όλα όπου όπως όταν ότι ου που πριν προς πως σας σε στα στη στην στις στο στον
        στους στων τα τη την της τι τις το τον του τους των χωρίς ως
    """,
    "arabic": """
        إذ إذا إلا التي الذي الذين إلى الى أم أما أمام أن إن أنا أنت أنه أنها أو أي أيضا بأن بعد بعض
        بل بين بينما تحت تكون تلك تم ثم جدا حتى حول حيث حين خلال دون ذلك رغم سوف ضد ضمن عبر على
        عن عند عندما غير فإن فقد فقط في فيه فيها قبل قد كان كانت كل كما كيف لا لأن لدى لذلك لقد لكن
        لم لماذا له لها لهم لو ليس ليست ما ماذا متى مثل مع من منذ منه منها نحو نحن هذا هذه هم هنا
        هناك هو هي هل وأن وقد وكان وكانت ولا ولم وهو وهي ومن وفي وعلى وإلى يتم يكون يمكن
    """,
    "hindi": """
        अगर अथवा अपना अपनी अपने अब आदि आप इन इस इसका इसकी इसके इसलिए इसमें इसे उन उनका उनकी उनके
        उन्हें उन्होंने उस उसका उसकी उसके उसने उसे एक एवं ऐसे और कई कब कभी कर करता करते करना करने
        कहा का कि किया किसी की कुछ के केवल को कोई कौन क्या क्यों गई गए गया जब जहाँ जा जाता जाती
        जाते जाने जिस जिसके जिसमें जो तक तथा तब तो था थी थीं थे दिया दो दोनों द्वारा न नहीं ने पर परन्तु
        पहले फिर बहुत बाद भी मगर मैं में यदि यह यहाँ या ये रहा रही रहे लिए लेकिन व वह वहाँ वाला वाली
        वाले वे सकता सकते सभी साथ से हम ही हुआ हुई हुए है हैं हो होता होती होते होना होने
    """,
}

# Function words of other Latin languages that are content words in English. They count as
# stop words only in texts of their own language, never in a tag given by itself.
CONTENT_ELSEWHERE = """
    bin con cosa da dos due era fin hat hier ha hay lei man mes men mine moi mon not nun pas per
    plus poco pour prima pro qua sera ses si sin sobre son sous ta tan tu uno via war was wer will
    car die den dem des bis es et sur te ti tout vers io la le les lo los do das der dort
    fait eu ai as on or ou mas mal san se su sue sub um als also am an in is no me mi my ne ni
"""

UNSPACED_STOP_CHARACTERS = (
    # Chinese particles, pronouns and conjunctions that seldom stand inside a name.
    "的了是在和有与與及或也都就而且但被把其這这那哪很吗嗎呢吧啊们們個个我你您他她它着著過过从從"
    "對对為为向让讓将將之所以于於由至并並"
    # Japanese particles; every hiragana also ends a term (see salience.py).
    "のはがをにでともへやかよね"
)

CONNECTORS = """
    of de del della delle dei di da do dos das du des d von van zu zum zur af av ibn bin ben al el
    upon under & für
"""
INNER_ARTICLES = "the la le les las los der den dem het ten ter l el al a"

COPULAS: dict[str, str] = {
    "english": "is was are were",
    "german": "ist war sind waren",
    "french": "est était fut sont étaient furent",
    "spanish": "es era fue son eran fueron",
    "italian": "è era fu sono erano furono",
    "portuguese": "é era foi são eram foram",
}
CONJUNCTIONS = "and und et y e"
ARTICLES: dict[str, str] = {  # "one" opens definitions too: "is one of the"
    "english": "a an the one",
    "german": "ein eine einer eines der die das",
    "french": "un une des le la les l",
    "spanish": "un una uno el la los las",
    "italian": "un una uno il lo la i gli le l",
    "portuguese": "um uma o a os as",
}

# Words that label what follows, and constants of programming languages: their capital marks
# no name.
LABELS = """
    abstract acknowledgements answer appendix background bcc cc chapter conclusion conclusions
    discussion eq equation example examples exercise fig figs figure figures fwd introduction
    lemma line lines listing note notes overview page pages paragraph part question re
    references section sections step steps table tables theorem tip volume warning
    choose click press select
    cm db hz kb kda kg khz km mb mg mhz ml mm mol ms nm ng ph rpm ul um μg μl μm
    true false none null nil nan ok todo fixme xxx
    abb abbildung abschnitt beispiel hinweis kapitel schritt seite tab tabelle
    chapitre etape exemple remarque tableau capitulo ejemplo figura nota paso tabla
    capitolo esempio pagina passo tabella exemplo secao
"""

# What announces a noun in English. After a preposition a word in -ing or -ed may be a verb.
DETERMINERS = """
    a an the this these those my your his her its our their each every any some no another both
    several many few such own other first second last next same whose
"""
PREPOSITIONS = """
    of in on for from with by at into about through during under over within without against
    between among per via as than upon towards across including like and or
    where when while if because whether although
"""
HONORIFICS = "mr mrs ms dr prof sen rep gov gen col cpl sgt lt capt maj rev hon messrs mme mlle"
ABBREVIATIONS = f"""
    {HONORIFICS} st ste mt ft jr sr inc ltd co corp bros vs no vol fig dept univ est ca cf approx
    ed eds op
"""

MONTHS = """
    january february march april may june july august september october november december
    jan feb mar apr jun jul aug sep sept oct nov dec
    januar februar märz mai juni juli oktober dezember
    janvier février mars avril juin juillet août septembre octobre novembre décembre
    enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
"""
WEEKDAYS = """
    monday tuesday wednesday thursday friday saturday sunday
    montag dienstag mittwoch donnerstag freitag samstag sonntag
"""
