from hebbgraph.testing.phrase_matcher import PhraseMatcher
from hebbgraph.text import tokenize


def matcher(*keys):
    made = PhraseMatcher()
    for number, key in enumerate(keys):
        made.add(key, number)
    return made


def test_leftmost_then_longest_then_disjoint():
    found = matcher("new york", "new york times", "times square", "york")
    assert found.spans(["the", "new", "york", "times", "square", "in", "york"]) == [
        (1, 4, 1),
        (6, 7, 3),
    ]


def test_falls_back_to_the_longest_phrase_that_is_complete():
    found = matcher("a", "a b c d", "b c")
    assert found.match(["a", "b", "c", "x"]) == [0, 2]
    assert found.match(["a", "b"]) == [0]


def test_duplicates_are_kept_in_order():
    assert matcher("x", "y").match(["y", "x", "y"]) == [1, 0, 1]


def test_lower_case_questions_find_names():
    question = tokenize("who directed forbidden ground?")
    assert matcher("forbidden ground").match(question) == [0]


def test_adding_again_replaces_the_id():
    found = matcher("new york")
    found.add("new york", 7)
    assert len(found) == 1
    assert found.get("new york") == 7


def test_discard_leaves_the_others():
    found = matcher("new", "new york", "new york times", "newark")
    found.discard("new york")
    found.discard("never there")
    found.discard("new york times square")
    assert sorted(found) == ["new", "new york times", "newark"]
    assert len(found) == 3
    assert "new york" not in found
    assert found.get("new york") is None
    assert found.match(["new", "york", "times", "new", "york", "newark"]) == [2, 0, 3]


def test_empty():
    assert matcher().match([]) == []
    assert matcher().match(["a"]) == []
    assert matcher("a").spans([]) == []
