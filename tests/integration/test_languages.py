"""Questions in other languages and scripts find their chunk through tags."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from hebbgraph import Chunk, HebbianIndex, ParameterError, Settings
from hebbgraph.graph.references import tag_key

# Written for these tests. In each language two chunks share what the question names, and
# the rest is about something else.
TEXTS = {
    "chinese": [
        ("zh1", "", "青石灯塔建在白鹭湾的入口，林海川是它的工程师。"),
        ("zh2", "", "林海川出生在云溪镇，父亲是一位木匠。"),
        ("zh3", "", "白鹭湾的渔民每年春天修补渔网。"),
        ("zh4", "", "木匠用松木做船，用铜钉固定船板。"),
    ],
    "japanese": [
        ("ja1", "", "青波灯台は技師の森川陽一が設計し、鷺浜の岬に建てられた。"),
        ("ja2", "", "森川陽一は雲谷村に生まれ、父は大工だった。"),
        ("ja3", "", "鷺浜の漁師は春に網を繕う。"),
        ("ja4", "", "カモメグループは港でラジオを放送する。"),
    ],
    "arabic": [
        ("ar1", "", "صمّم المهندس سامر الحلبي منارة الصدف عند مدخل خليج النورس."),
        ("ar2", "", "وُلد سامر الحلبي في بلدة وادي الغيم وكان أبوه نجّارًا."),
        ("ar3", "", "يصلح صيادو خليج النورس شباكهم كل ربيع."),
        ("ar4", "", "يصنع النجار القوارب من خشب الصنوبر."),
    ],
    "russian": [
        ("ru1", "", "Маяк Белый Камень спроектировал инженер Олег Ветров для Чаячьей бухты."),
        ("ru2", "", "Олег Ветров родился в посёлке Ольховка в семье плотника."),
        ("ru3", "", "Рыбаки чинят сети каждую весну, а лодки красят летом."),
        ("ru4", "", "Плотник строит лодки из сосны и скрепляет доски медью."),
    ],
    "german": [
        ("de1", "", "Den Leuchtturm Möwenstein entwarf die Ingenieurin Frieda Küstner."),
        ("de2", "", "Frieda Küstner wurde in Wolkental geboren; ihr Vater war Zimmermann."),
        ("de3", "", "Die Fischer flicken jedes Frühjahr ihre Netze am Hafen."),
        ("de4", "", "Ein Zimmermann baut Boote aus Kiefernholz."),
    ],
    "vietnamese": [
        ("vi1", "", "Hải đăng Đá Xanh do kỹ sư Lê Minh Khang xây ở cửa vịnh Cò Trắng."),
        ("vi2", "", "Lê Minh Khang sinh ra ở làng Vân Khê, cha ông là một thợ mộc."),
        ("vi3", "", "Mỗi mùa xuân, ngư dân vịnh Cò Trắng vá lưới. Bạn của họ bán bàn ở chợ."),
        ("vi4", "", "Người thợ mộc đóng thuyền bằng gỗ thông và ghép ván bằng đinh đồng."),
    ],
    "hindi": [
        ("hi1", "", "नीलशिला प्रकाशस्तंभ का नक्शा अभियंता मोहन वर्धन ने बनाया था।"),
        ("hi2", "", "मोहन वर्धन का जन्म मेघपुर गाँव में हुआ और उनके पिता बढ़ई थे।"),
        ("hi3", "", "मछुआरे हर वसंत में अपने जाल सुधारते हैं।"),
        ("hi4", "", "नाव चीड़ की लकड़ी से बनती है।"),
    ],
}  # fmt: skip

# (question, chunk that answers it, a cue that must be on that chunk)
QUESTIONS = [
    ("chinese", "林海川是在哪里出生的？", "zh2", "林海川"),
    ("chinese", "谁设计了白鹭湾的灯塔？", "zh1", "白鹭湾"),
    ("japanese", "森川陽一はどこで生まれましたか。", "ja2", "森川陽一"),
    ("arabic", "أين ولد سامر الحلبي؟", "ar2", "سامر الحلبي"),
    ("arabic", "من صمم المنارة في خليج النورس؟", "ar1", "خليج النورس"),
    ("russian", "Где родился Олег Ветров?", "ru2", "олег ветров"),
    ("german", "Wo wurde Frieda Küstner geboren?", "de2", "frieda kustner"),
    ("german", "was war der vater von frieda küstner?", "de2", "frieda kustner"),
    ("vietnamese", "Lê Minh Khang sinh ra ở đâu?", "vi2", "le minh khang"),
    ("vietnamese", "Ai đã xây hải đăng ở vịnh Cò Trắng?", "vi1", "co trang"),
    ("hindi", "मोहन वर्धन का जन्म कहाँ हुआ?", "hi2", "मोहन वर्धन"),
]

TITLED = [
    ("Кто построил Белый Камень?", Chunk(id="t-ru", title="Белый Камень", text="Маяк 1902 года.")),
    ("青石灯塔有多高？", Chunk(id="t-zh", title="青石灯塔", text="高三十米。")),
    ("ما ارتفاع منارة الصدف؟", Chunk(id="t-ar", title="منارة الصدف", text="ثلاثون مترا.")),
    ("Wie hoch ist der Möwenstein?", Chunk(id="t-de", title="Möwenstein", text="Dreißig Meter.")),
    ("青波灯台の高さは？", Chunk(id="t-ja", title="青波灯台", text="三十メートル。")),
    ("नीलशिला कितना ऊँचा है?", Chunk(id="t-hi", title="नीलशिला", text="तीस मीटर।")),
]


@pytest.fixture(scope="module")
def index() -> Iterator[HebbianIndex]:
    with HebbianIndex.open(":memory:") as index:
        for texts in TEXTS.values():
            index.add([Chunk(id=i, title=title, text=text) for i, title, text in texts])
        index.add([chunk for _, chunk in TITLED])
        yield index


@pytest.mark.parametrize(("language", "question", "expected", "cue"), QUESTIONS)
def test_a_question_finds_its_chunk_through_a_tag(
    index: HebbianIndex, language: str, question: str, expected: str, cue: str
) -> None:
    recall = index.recall(question, k=3)
    hit = recall.hit(expected)
    assert hit is not None, [h.chunk.id for h in recall.hits]
    assert hit.rank == 1
    named = {found.tag for found in recall.cues}
    assert cue in named
    explanation = index.explain(recall, expected)
    assert cue in explanation.tags


@pytest.mark.parametrize(("question", "chunk"), TITLED)
def test_a_question_that_names_a_title_goes_over_its_tag(
    index: HebbianIndex, question: str, chunk: Chunk
) -> None:
    recall = index.recall(question, k=1)
    assert recall.hits[0].chunk == chunk
    assert recall.cues
    assert index.explain(recall, chunk.id).activation > 0


@pytest.mark.parametrize(
    ("question", "first", "second"),
    [
        ("Где родился инженер маяка Белый Камень?", "ru1", "ru2"),
        ("青石灯塔的工程师出生在哪里？", "zh1", "zh2"),
        ("أين ولد مهندس منارة الصدف؟", "ar1", "ar2"),
        ("Kỹ sư của hải đăng Đá Xanh sinh ra ở đâu?", "vi1", "vi2"),
        ("Wo wurde die Ingenieurin des Leuchtturms Möwenstein geboren?", "de1", "de2"),
    ],
)
def test_two_documents_are_found_for_a_question_that_takes_both(
    index: HebbianIndex, question: str, first: str, second: str
) -> None:
    found = {hit.chunk.id for hit in index.recall(question, k=5).hits}
    assert {first, second} <= found


def test_languages_keep_apart(index: HebbianIndex) -> None:
    for language, question, _, _ in QUESTIONS:
        own = {id_ for id_, _, _ in TEXTS[language]} | {chunk.id for _, chunk in TITLED}
        scored = {hit.chunk.id for hit in index.recall(question, k=4).hits if hit.score > 0.05}
        assert scored <= own


def test_no_syllable_of_vietnamese_is_a_tag() -> None:
    """Without its tone marks, "ban" is a board, a friend, a table and to sell."""
    texts = [text for _, _, text in TEXTS["vietnamese"]]
    with HebbianIndex.open(":memory:") as index:
        index.add([f"{text} Phần {number}." for text in texts for number in range(3)])
        tags = {tag for tag in index.to_networkx() if " " not in tag}
    assert not tags


ENGLISH = [
    Chunk(id="en1", text="The Salt Lantern was designed by Oleg Vetrov for the bay of gulls."),
    Chunk(id="en2", text="Oleg Vetrov was born in Olkhovka, the son of a carpenter."),
    Chunk(id="en3", text="The Salt Lantern burns paraffin. Fishermen mend nets in spring."),
    Chunk(id="en4", text="Pine makes good boats, and copper nails hold the planks."),
]


def test_a_name_in_another_script_leads_to_its_chunks() -> None:
    question = "Где родился Олег Ветров?"
    with HebbianIndex.open(":memory:") as index:
        index.add(ENGLISH)
        assert not index.recall(question).cues
    with HebbianIndex.open(":memory:", settings=Settings(aliases=("scripts",))) as index:
        index.add(ENGLISH)
        recall = index.recall(question, k=2)
        assert [cue.tag for cue in recall.cues] == ["oleg vetrov"]
        assert {hit.chunk.id for hit in recall.hits} == {"en1", "en2"}
        index.add([Chunk(id=i, text=text) for i, _, text in TEXTS["russian"]])
        both = index.recall("Where was Oleg Vetrov born?", k=8)
        assert {"oleg vetrov", "олег ветров"} <= {cue.tag for cue in both.cues}
        assert {"en2", "ru2"} <= {hit.chunk.id for hit in both.hits[:4]}


@pytest.mark.parametrize("asked", ["Öhlmann", "Oehlmann", "Ohlmann"])
@pytest.mark.parametrize("written", ["Öhlmann", "Oehlmann"])
def test_umlauts_may_be_written_as_two_letters(asked: str, written: str) -> None:
    chunks = [
        Chunk(id="who", title=f"Karl {written}", text="Er baute das Wehr am Unterlauf."),
        Chunk(id="net", text="Die Fischer flicken ihre Netze am Hafen."),
    ]
    with HebbianIndex.open(":memory:", settings=Settings(aliases=("scripts",))) as index:
        index.add(chunks)
        recall = index.recall(f"Was baute Karl {asked}?", k=1)
        assert recall.hits[0].chunk.id == "who"
        assert [cue.tag for cue in recall.cues] == [tag_key(f"Karl {written}")]


def test_both_ways_to_write_an_umlaut_are_joined() -> None:
    with HebbianIndex.open(":memory:", settings=Settings(aliases=("scripts",))) as index:
        index.add([
            Chunk(id="one", title="Karl Öhlmann", text="Er baute das Wehr."),
            Chunk(id="two", title="Karl Oehlmann", text="Geboren in Möwenstein."),
            Chunk(id="net", text="Die Fischer flicken ihre Netze am Hafen."),
        ])  # fmt: skip
        for asked in ("Karl Öhlmann", "Karl Oehlmann"):
            hits = index.recall(f"Was weiß man von {asked}?", k=3).hits
            assert {hit.chunk.id for hit in hits[:2]} == {"one", "two"}
            assert hits[1].score > 0.1


def test_a_glossary_joins_names_and_reads_questions() -> None:
    names = {"Salt Lantern": ("Salzlaterne", "Соляной фонарь")}
    with HebbianIndex.open(":memory:", settings=Settings(glossary=names)) as index:
        index.add(ENGLISH)
        for question in ("Womit brennt die Salzlaterne?", "Что освещает Соляной фонарь?"):
            recall = index.recall(question, k=2)
            assert [cue.tag for cue in recall.cues] == ["salt lantern"]
            assert {hit.chunk.id for hit in recall.hits} == {"en1", "en3"}
            assert recall.hits[1].score > 0


@pytest.mark.parametrize(
    "glossary",
    [{str(at): ("one",) for at in range(40)}, {"one": tuple(map(str, range(40)))}, {"a": (" ",)}],
)
def test_a_glossary_that_tells_nothing_apart_is_refused(glossary: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match="glossary: "):
        Settings(glossary=glossary)


class _Multilingual:
    """As multilingual embedders do, it says what a text is about, and its language louder."""

    model_name = "multilingual"
    topics = (
        ("lighthouse", "leuchtturm", "маяк"), ("born", "geboren", "родился"),
        ("nets", "netze", "сети"), ("boats", "boote", "лодки"), ("rain", "regen", "дождь"),
    )  # fmt: skip
    languages = ("the", "die", "и")

    def embed_query(self, text: str) -> NDArray[np.float32]:
        words = text.lower().replace(".", " ").replace("?", " ").split()
        about = [any(word in words for word in names) for names in self.topics]
        said = [2.0 * (word in words) for word in self.languages]
        return np.array([*about, *said, 0.1], np.float32)

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        return np.stack([self.embed_query(text) for text in texts])


_WORLD = [
    Chunk(id="en-nets", text="The men of the harbour mend the nets in spring."),
    Chunk(id="en-boats", text="The boats are made of pine, and so is the jetty."),
    Chunk(id="en-house", text="The rain of the harbour fell upon the house there."),
    Chunk(id="de-light", text="Die Leute sehen die Bucht und die Küste vom Leuchtturm aus."),
    Chunk(id="de-born", text="Die Frau, die dort geboren ist, und die Leute von der Küste."),
    Chunk(id="ru-boats", text="Летом и весной лодки стоят и в бухте, и на берегу."),
    Chunk(id="ru-nets", text="Весной чинят сети и сушат рыбу, и так каждый год."),
    *(Chunk(id=f"en-{at}", text=f"The rain of the day {at} was on the hill.") for at in range(8)),
    *(Chunk(id=f"de-{at}", text=f"Der Regen, die Tage und die Nacht {at}.") for at in range(8)),
    *(Chunk(id=f"ru-{at}", text=f"Дождь и ветер, и ночь {at}.") for at in range(8)),
]
_ACROSS = Settings(across_languages=True)


def _ranked(index: HebbianIndex, question: str, **more: object) -> list[tuple[str, float]]:
    hits = index.recall(question, **more).hits  # type: ignore[arg-type]
    return [(hit.chunk.id, round(hit.score, 9)) for hit in hits]


def test_a_question_finds_what_is_written_in_another_language() -> None:
    question = "Where is the lighthouse of the harbour?"
    with HebbianIndex.open(":memory:", embedder=_Multilingual()) as index:
        index.add(_WORLD)
        assert _ranked(index, question)[0][0].startswith("en-"), "the language is louder"
    with HebbianIndex.open(":memory:", embedder=_Multilingual(), settings=_ACROSS) as index:
        index.add(_WORLD)
        recall = index.recall(question)
        assert recall.hits[0].chunk.id == "de-light"
        assert not recall.nothing_known
        assert index.recall("Где стоят лодки и сети?", k=4).hits[0].chunk.id[3:] in {
            "boats",
            "nets",
        }
        without = index.recall(question, where={"$id": {"$ne": "de-light"}})
        assert "de-light" not in {hit.chunk.id for hit in without.hits}


def test_in_one_language_nothing_changes() -> None:
    english = [chunk for chunk in _WORLD if chunk.id.startswith("en")]
    found = []
    for settings in (Settings(), _ACROSS):
        with HebbianIndex.open(":memory:", embedder=_Multilingual(), settings=settings) as index:
            index.add(english)
            found.append(_ranked(index, "Who mends the nets of the harbour?"))
    assert found[0] == found[1]


@pytest.mark.parametrize("seed", range(3))
def test_languages_do_not_remember_what_was_deleted(seed: int) -> None:
    order = random.Random(seed).sample(_WORLD, len(_WORLD))
    with HebbianIndex.open(":memory:", embedder=_Multilingual(), settings=_ACROSS) as index:
        for chunk in order:
            index.add([chunk])
            index.recall("Wo sind die Boote und die Netze?")
        index.delete([order[0].id, order[3].id])
        index.add([order[3]])
        after = _ranked(index, "Wo sind die Boote und die Netze?")
    with HebbianIndex.open(":memory:", embedder=_Multilingual(), settings=_ACROSS) as index:
        index.add([chunk for chunk in _WORLD if chunk.id != order[0].id])
        assert _ranked(index, "Wo sind die Boote und die Netze?") == after


def test_citations_teach_across_languages() -> None:
    with HebbianIndex.open(":memory:", embedder=_Multilingual(), settings=_ACROSS) as index:
        index.add(_WORLD)
        german = "Wo ist die Netze Fabrik und die Boote?"
        before = dict(_ranked(index, german, k=9))
        for _ in range(3):
            taught = index.recall("Where are the nets and the boats of the harbour?", k=7)
            index.reinforce(taught, cited=["ru-nets"], actor="ann")
        after = dict(_ranked(index, german, k=9))
        assert after["ru-nets"] > before["ru-nets"]


class _Named(_Multilingual):
    """Knows what names mean too: their first half says the language, the other the thing."""

    languages = ("the", "die", "и")
    topics = (
        ("heron", "reiher", "цапля"), ("lantern", "laterne", "фонарь"),
        ("orchard", "obstgarten", "сад"), ("drum", "trommel", "барабан"),
        ("needle", "nadel", "игла"), ("bees", "bienen", "пчелы"),
    )  # fmt: skip

    def embed_query(self, text: str) -> NDArray[np.float32]:
        words = text.lower().replace(".", " ").replace("?", " ").split()
        about = [any(word in words for word in names) for names in self.topics]
        said = [
            0.7 * (mark in words or any(word in words for word in spoken))
            for mark, spoken in zip(self.languages, zip(*self.topics, strict=True), strict=True)
        ]
        return np.array([*about, *said, 0.1], np.float32)


_THINGS = [
    Chunk(id="heron", title="Heron", text="The house of the man, and it was his own."),
    Chunk(id="lantern", title="Lantern", text="The street of the town, and the wall."),
    Chunk(id="orchard", title="Orchard", text="The hill and the wall, and what was there."),
    Chunk(id="laterne", title="Laterne", text="Die Straße und die Mauer, auch der Platz."),
    Chunk(id="trommel", title="Trommel", text="Der Mann und die Frau, die nicht dort sind."),
    Chunk(id="nadel", title="Nadel", text="Die Wand und der Turm, die nicht mehr sind."),
    Chunk(id="сад", title="Сад", text="Дом и стена, и ещё что-то там было."),
    Chunk(id="игла", title="Игла", text="Улица и площадь, и снова стена."),
]
_JOINED = Settings(across_languages=True, aliases=("translations",))


def test_a_title_is_found_by_its_name_in_another_language() -> None:
    question = "Was ist mit dem Reiher und der Fabrik?"
    with HebbianIndex.open(":memory:", embedder=_Named(), settings=_ACROSS) as index:
        index.add(_THINGS)
        assert not index.recall(question).cues
    with HebbianIndex.open(":memory:", embedder=_Named(), settings=_JOINED) as index:
        index.add(_THINGS)
        recall = index.recall(question, k=3)
        assert [cue.tag for cue in recall.cues] == ["heron"]
        assert recall.hits[0].chunk.id == "heron"
        assert index.explain(recall, "heron").activation > 0
        assert recall.notes[:2] == (
            "the question was read as German",
            "named in another language or script: heron",
        )
        assert not index.recall("Where is the house of the Heron?").notes[1:2]
        unknown = index.recall("Xylo?").notes
        assert any("is not known" in note for note in unknown)


def test_titles_of_one_thing_pass_activation_on() -> None:
    question = "What of the Lantern?"
    found = []
    for settings in (_ACROSS, _JOINED):
        with HebbianIndex.open(":memory:", embedder=_Named(), settings=settings) as index:
            index.add(_THINGS)
            recall = index.recall(question, k=8)
            found.append({hit.chunk.id: hit for hit in recall.hits})
    assert found[1]["laterne"].score > found[0]["laterne"].score
    tags = [step.value for step in found[1]["laterne"].path if step.kind == "tag"]
    assert tags == ["lantern", "laterne"]


@pytest.mark.parametrize("seed", range(3))
def test_translations_do_not_remember_what_was_deleted(seed: int) -> None:
    order = random.Random(seed).sample(_THINGS, len(_THINGS))
    questions = ("What of the Lantern and the Needle?", "Wo ist die Nadel, und wo der Garten?")
    with HebbianIndex.open(":memory:", embedder=_Named(), settings=_JOINED) as index:
        for chunk in order:
            index.add([chunk])
            index.recall(questions[0])
        index.delete([order[0].id, order[3].id])
        index.add([order[3]])
        index.compact()  # lexical search counts deleted chunks until then
        after = [_ranked(index, question) for question in questions]
    with HebbianIndex.open(":memory:", embedder=_Named(), settings=_JOINED) as index:
        index.add([chunk for chunk in _THINGS if chunk.id != order[0].id])
        assert [_ranked(index, question) for question in questions] == after


@pytest.mark.parametrize("embedder", [None, _Named()], ids=["words", "vectors"])
def test_a_text_that_mixes_five_scripts(embedder: _Named | None) -> None:
    mixed = "Маяк 白鹭湾 at Salt Lantern منارة الصدف और मोहन वर्धन, Олег Ветров."
    settings = Settings(across_languages=True, aliases=("scripts", "spelling", "translations"))
    with HebbianIndex.open(":memory:", embedder=embedder, settings=settings) as index:
        index.add([*_THINGS, Chunk(id="mixed", title=mixed[:30], text=mixed)])
        for question in (
            "白鹭湾",
            "منارة الصدف",
            "मोहन वर्धन",
            "Олег Ветров",
            "Salt Lantern",
            mixed,
        ):
            recall = index.recall(question, k=9)
            assert recall.hit("mixed") is not None
            assert embedder or recall.hits[0].chunk.id == "mixed"
        index.delete(["mixed"])
        assert index.doctor().ok


def test_translations_need_vectors_without_language() -> None:
    with pytest.raises(ParameterError, match="takes across_languages=True"):
        Settings(aliases=("translations",))
    with HebbianIndex.open(":memory:", settings=_JOINED) as index:
        index.add(_THINGS)
        assert not index.recall("Was ist mit dem Reiher?").cues


def test_languages_are_read_off_texts() -> None:
    with pytest.raises(ParameterError, match="across_languages takes keep_text"):
        Settings(across_languages=True, keep_text=False)
