from __future__ import annotations

import pytest

from hebbgraph.text.languages import language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The ferry leaves at noon, and so does the post.", "english"),
        ("Die Fähre legt mittags ab und die Post auch.", "german"),
        ("Le bac part à midi, et la poste aussi.", "french"),
        ("El barco sale a las doce y el correo también.", "spanish"),
        ("Паром отходит в полдень.", "cyrillic"),
        ("渡轮在正午出发。", "han"),
        ("フェリーは正午に出る。", "han"),
        ("Mỗi mùa xuân, ngư dân vá lưới.", "vietnamese"),
        ("", ""),
        ("4711 / 0815", ""),
        ("Oslo", ""),
    ],
)
def test_the_language_of_a_text(text: str, language: str) -> None:
    assert language_of(text) == language


def test_the_script_with_most_letters_counts() -> None:
    assert (
        language_of("Паром и почта отходят в полдень. Ferry, 渡轮, πορθμείο, معدية") == "cyrillic"
    )
    assert language_of("Паром ferry 渡轮 πορθμείο معدية") == ""
