"""Do tags cost recall where words are written in syllables with spaces?

``python -m hebbgraph_bench.languages.vietnamese`` prints the table of ``docs/languages.md``. The
passages are made of sentences about invented places and people, whose names share their syllables:
"Vân Khê", "Văn Khế" and "Khê Vân" differ by a mark or by their order, and "bàn" (a table), "bán"
(to sell) and "bạn" (a friend) stand in many. A third of the questions names the passage, a third
describes it in other words, and a third takes two passages and names the first.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from hebbgraph import Chunk, HebbianIndex, Settings
from hebbgraph.formulas.dense_share import EvidenceWeights
from hebbgraph.text.characters import fold
from rich.console import Console

from hebbgraph_bench.baselines import BM25
from hebbgraph_bench.languages.measure import Question
from hebbgraph_bench.metrics import recall_at_k
from hebbgraph_bench.output import Output
from hebbgraph_bench.tables import Grid

__all__ = ["chunks", "main", "questions"]

K = 5
#: Modules that propose tags, and that make the terms of lexical search.
_TAGS, _TERMS = ("candidates",), ("reader", "query")
_N = 120
_SYLLABLES = (
    "Vân", "Văn", "Khê", "Khế", "Bàn", "Bản", "Thạch", "Thách", "Hồ", "Hổ", "Lam", "Lâm",
    "Sơn", "Mai", "Mái",
)  # fmt: skip
_FAMILIES = ("Lê", "Trần", "Hồ", "Văn", "Mai", "Lâm")
_GIVEN = ("Minh", "Hòa", "Hoa", "Hoà", "Bình", "Bính", "An", "Ân", "Sơn", "Khê")
#: What it is, who began it and how, in a text and in a question.
_KINDS = (
    ("chùa", "được dựng bởi", "ai dựng nên"), ("chợ", "được lập ra bởi", "ai mở ra"),
    ("cầu", "được bắc bởi", "ai bắc qua sông"), ("hồ", "được đào bởi", "ai cho đào"),
    ("làng nghề", "được gây dựng bởi", "ai truyền nghề cho"),
    ("hang", "được tìm ra bởi", "ai khám phá"), ("bến đò", "được mở bởi", "ai lập nên"),
    ("quán trà", "được mở bởi", "ai làm chủ đầu tiên của"),
)  # fmt: skip
#: In a text, and as a question puts it.
_MATERIALS = (
    ("gỗ lim", "cây rừng cứng"), ("đá ong", "đá nhiều lỗ"), ("gạch nung", "đất đốt trong lò"),
    ("tre già", "thân tre"), ("đồng đỏ", "kim loại đỏ"), ("đá cuội", "sỏi lớn dưới suối"),
    ("gỗ mít", "thân cây ăn quả"), ("vôi trộn mật", "vữa ngọt"), ("ngói vảy", "mái vảy cá"),
    ("đất sét trắng", "đất dẻo màu trắng"), ("gỗ bàn", "ván đóng bàn"),
)  # fmt: skip
_GOODS = (
    ("mật ong rừng", "thứ ngọt của ong"), ("nón lá cọ", "đồ đội đầu"), ("chiếu cói", "đồ trải nằm"),
    ("dao rèn", "lưỡi thép"), ("giấy dó", "tờ để vẽ tranh"), ("trà ướp sen", "đồ uống thơm hoa"),
    ("vải lanh", "tấm dệt"), ("gốm nâu", "bình đất"), ("cá khô", "đồ biển phơi nắng"),
    ("măng muối", "búp tre chua"), ("bàn ghế cũ", "đồ gỗ đã dùng"), ("bánh đa", "bánh nướng giòn"),
)  # fmt: skip
_BEASTS = (
    ("con cò trắng", "chim chân dài"), ("con rùa vàng", "con vật mai cứng"),
    ("đàn vịt trời", "bầy chim nước"), ("con hổ mù", "thú dữ không thấy đường"),
    ("con trâu đá", "tượng vật kéo cày"), ("bầy ong đen", "đàn côn trùng đốt"),
    ("con cá chép già", "loài có vảy sống lâu"), ("con khỉ một tay", "thú leo cây tàn tật"),
    ("đôi hạc gỗ", "hai con chim đẽo"), ("con rắn xanh", "loài bò sát màu lá"),
)  # fmt: skip
_DAYS = (
    "ngày rằm", "mồng ba", "mồng bảy", "đêm giao thừa", "ngày hạ chí", "cuối tháng chạp",
    "đầu mùa mưa", "sau vụ gặt", "ngày lập xuân", "đêm trung thu",
)  # fmt: skip
_ENDS = (
    "Bạn hàng ở xa cũng đến bán và mua.", "Người già ngồi bên bàn đá kể chuyện cũ.",
    "Không ai bán đồ giả ở đây.", "Trẻ con thả diều trên bãi cỏ gần đó.",
    "Mùa nước lớn, thuyền của bạn chài đậu kín bờ.", "Bản đồ cũ ghi sai tên nơi này.",
)  # fmt: skip


class _Thing(NamedTuple):
    name: str
    kind: tuple[str, str, str]
    by: str
    material: tuple[str, str]
    goods: tuple[str, str]
    beast: tuple[str, str]
    day: str
    year: int
    near: int
    end: str


def _things() -> list[_Thing]:
    rng = random.Random(7)
    pairs = [(first, second) for first in _SYLLABLES for second in _SYLLABLES if first != second]
    rng.shuffle(pairs)
    return [
        _Thing(
            " ".join(pairs[number]),
            rng.choice(_KINDS),
            " ".join((rng.choice(_FAMILIES), *rng.sample(_GIVEN, 2))),
            rng.choice(_MATERIALS),
            rng.choice(_GOODS),
            rng.choice(_BEASTS),
            rng.choice(_DAYS),
            rng.randint(1500, 1900),
            (number + rng.randint(1, _N - 1)) % _N,
            rng.choice(_ENDS),
        )
        for number in range(_N)
    ]


_THINGS = _things()


def _full(thing: _Thing) -> str:
    return f"{thing.kind[0]} {thing.name}"


def chunks(*, titles: bool) -> list[Chunk]:
    """Return 120 passages."""
    corpus = []
    for number, thing in enumerate(_THINGS):
        near = _THINGS[thing.near]
        name = _full(thing)
        sentences = [
            f"{name[0].upper()}{name[1:]} {thing.kind[1]} {thing.by} năm {thing.year}.",
            f"Phần chính làm bằng {thing.material[0]},"
            f" và người ta bán {thing.goods[0]} vào {thing.day}.",
            f"Tương truyền {thing.beast[0]} đã dẫn đường đến đây.",
            f"Từ đây đi bộ nửa ngày thì tới {_full(near)}.",
            thing.end,
        ]
        title = f"{name[0].upper()}{name[1:]}" if titles else ""
        corpus.append(Chunk(id=f"vi{number}", title=title, text=" ".join(sentences)))
    return corpus


def questions() -> list[Question]:
    """Return 120 questions: 40 name their passage, 40 describe it, 40 take two."""
    rng = random.Random(11)
    asked = []
    for number, place in enumerate(rng.sample(range(_N), _N)):
        thing, near = _THINGS[place], _THINGS[_THINGS[place].near]
        gold: tuple[str, ...] = (f"vi{place}",)
        if number % 3 == 0:
            text = rng.choice((
                f"Ở {_full(thing)}, {thing.kind[2]} và vào năm nào?",
                f"Con vật nào dẫn đường đến {_full(thing)}?",
                f"Người ta mua được gì ở {_full(thing)}?",
                f"{_full(thing).capitalize()} làm bằng gì?",
            ))  # fmt: skip
        elif number % 3 == 1:
            text = (
                f"Nơi nào dựng bằng {thing.material[1]}, buôn {thing.goods[0]} và "
                f"có chuyện kể về {thing.beast[1]}?"
            )
        else:
            text = f"Nơi cách {_full(thing)} nửa ngày đường do {near.kind[2]}, và bán gì?"
            gold = (*gold, f"vi{thing.near}")
        asked.append(Question(f"q{number}", "vi", text, gold))
    return asked


@contextmanager
def _as_english(*names: str) -> Iterator[None]:
    """Make some modules treat all texts as English."""
    with ExitStack() as stack:
        for name in names:
            module = import_module(f"hebbgraph.text.{name}")
            stack.enter_context(patch.object(module, "is_syllabic", lambda text: False))
        yield


def _recalls(search: Callable[[str], list[str]]) -> tuple[str, ...]:
    """Return R@5 of the three kinds of questions, and of all."""
    recalls = [
        recall_at_k(search(question.text), dict.fromkeys(question.gold, 1), K)
        for question in questions()
    ]
    means = [float(np.mean(part)) for part in (recalls[::3], recalls[1::3], recalls[2::3], recalls)]
    return tuple(f"{mean:.3f}".removeprefix("0") for mean in means)


def _by_index(corpus: list[Chunk], *, graph: float = 1.0, marks: bool = True) -> tuple[str, ...]:
    settings = Settings(keep_recalls=0, evidence=EvidenceWeights(graph=graph))
    with HebbianIndex.open(":memory:", settings=settings) as index:
        index.add(corpus)

        def ask(text: str) -> list[str]:
            recall = index.recall(text if marks else fold(text), k=K)
            return [hit.chunk.id for hit in recall.hits]

        return _recalls(ask)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="hebbgraph_bench.languages.vietnamese")
    parser.add_argument(
        "--json", type=Path, help="write the figures to this JSON file, and Markdown beside it"
    )
    options = parser.parse_args(arguments)
    rows = []
    for name, titles in (("without titles", False), ("with titles", True)):
        corpus = chunks(titles=titles)
        direct = BM25()
        direct.index(corpus)
        by_words = _recalls(lambda text: [hit.id for hit in direct.retrieve(text, K)])  # noqa: B023
        rows.append((f"BM25, {name}", *by_words))
        with _as_english(*_TAGS, *_TERMS):
            rows.append((f"all as in English, {name}", *_by_index(corpus)))
        with _as_english(*_TERMS):
            rows.append((f"no marks in terms, {name}", *_by_index(corpus)))
        rows.append((f"lexical search alone, {name}", *_by_index(corpus, graph=0.0)))
        rows.append((f"as it is, {name}", *_by_index(corpus)))
        rows.append((f"asked without marks, {name}", *_by_index(corpus, marks=False)))
    head = ("R@5", "named", "described", "two passages", "all")
    Output(options.json, Console()).tables([Grid("Vietnamese", head, rows)])


if __name__ == "__main__":
    main()
