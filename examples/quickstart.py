"""Index a few texts, ask, say which passage answered, ask with half of the words."""

from hebbgraph import HebbianIndex

notes = [
    {"id": "refund", "title": "Cancelling", "text": "A deposit is refunded two days before."},
    {"id": "money", "title": "Paying", "text": "Bring money in cash; we cannot read cards."},
    {"id": "late", "title": "Arriving", "text": "If you come back after dark, ring the bell."},
    {"id": "dogs", "title": "Dogs", "text": "Dogs sleep in the wood store, not in the rooms."},
]

with HebbianIndex.open(":memory:") as index:  # a directory keeps it
    index.add(notes)

    reworded = "What happens when somebody falls ill?"  # what does not fit at all scores 0
    print("before:", [hit.id for hit in index.recall(reworded, k=3, min_score=1e-6)])

    recall = index.recall("Do I get my money back if I fall ill?", k=3)
    for hit in recall:
        print(f"  {hit.rank}. {hit.title} ({hit.score:.2f}): {hit.why}")

    # What the answer cites, a click, or an editor's word. The passage need not have been found.
    index.reinforce(recall, cited=["refund"], actor="ann")

    # The other question shares two words with the one that was taught: "fall" and "ill".
    after = index.recall(reworded, k=3, min_score=1e-6)
    print("after: ", [hit.id for hit in after], after[0].why)
    assert after[0].id == "refund"
