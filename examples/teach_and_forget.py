"""Lessons have authors; forgetting one leaves the index as if it had never been taught."""

from hebbgraph import HebbianIndex

with HebbianIndex.open(":memory:") as index:
    index.add(
        {"id": name, "text": text}
        for name, text in {
            "porphyry": "The bridge is clad in blue porphyry from the quarry at Sable.",
            "toll": "Crossing the bridge costs four crowns, and islanders pay nothing.",
            "gale": "In a gale the bridge is closed, and a red ball is hung out.",
        }.items()
    )
    question = "What is the price on the way over?"

    def ranking() -> list[str]:
        return [hit.id for hit in index.recall(question, k=3)]

    untaught = ranking()
    index.reinforce(index.recall(question, k=3), cited=["toll"], actor="ann")
    by_ann = ranking()
    print("ann cites toll:", by_ann)

    # Somebody says something else, and is found out.
    index.reinforce(index.recall(question, k=3), cited=["gale"], rejected=["toll"], actor="mallory")
    print("mallory disagrees:", ranking())
    print("lessons:", [(lesson.actor, lesson.cited) for lesson in index.lessons()])

    would_go = index.forget(actor="mallory", dry_run=True)
    gone = index.forget(actor="mallory")
    print(f"mallory's {gone} lesson is forgotten:", ranking())
    assert (would_go, ranking()) == (1, by_ann)

    index.forget(everything=True)
    assert ranking() == untaught

    # What leaves the index leaves what was learned about it; the same text brings it back.
    index.reinforce(index.recall(question, k=3), cited=["toll"], actor="ann")
    (toll,) = index.get("toll")
    index.delete("toll")
    assert "toll" not in ranking()
    index.add([toll])
    assert ranking() == by_ann
