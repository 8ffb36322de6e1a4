"""Index a few texts, ask, say which passage answered, ask again in other words."""

from hebbgraph import HebbianIndex

notes = [
    {"id": "deposit", "title": "Cancelling", "text": "A deposit is refunded two days before."},
    {"id": "money", "title": "Paying", "text": "Bring money in cash; we cannot read cards."},
    {"id": "late", "title": "Arriving", "text": "If you come back after dark, ring the bell."},
    {"id": "dogs", "title": "Dogs", "text": "Dogs sleep in the wood store, not in the rooms."},
]

with HebbianIndex.open(":memory:") as index:  # a directory keeps it
    index.add(notes)

    recall = index.recall("Do I get my money back when I cannot come?", k=3)
    print("before:", [hit.id for hit in recall])
    for hit in recall:
        print(f"  {hit.rank}. {hit.title} ({hit.score:.2f}): {hit.why}")

    # What the answer cites, a click, or an editor's word. The passage need not have been found.
    index.reinforce(recall, cited=["deposit"], actor="ann")

    reworded = index.recall("We cannot come: do we get our money back?", k=3)
    print("after: ", [hit.id for hit in reworded])
    assert reworded[0].id == "deposit"
