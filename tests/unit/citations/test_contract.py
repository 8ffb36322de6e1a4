"""The contract, passed without any framework: the shortest adapter there is."""

from __future__ import annotations

from hebbgraph.citations import Exchange, Formatter, Learner, Recalled, Reply, Source
from hebbgraph.testing.citations import (
    CHUNKS,
    CitationContract,
    Driver,
    ScriptedIndex,
    ScriptedTurn,
)


class PlainDriver(Driver):
    def __init__(self, index: ScriptedIndex) -> None:
        super().__init__(index)
        self.learner = Learner()
        self.sources: dict[str | None, str] = {}

    def ask(self, turn: ScriptedTurn) -> str | None:
        recalls = [
            Recalled(self.index, self.index.recall(search.query)) for search in turn.searches
        ]
        prefix = "always" if turn.conversation or len(recalls) > 1 else "auto"
        shown = []
        for recalled in recalls:
            ids = turn.keep or [hit.chunk.id for hit in recalled.recall.hits]
            found = [CHUNKS[id_] for id_ in ids]
            if turn.layout is not None:
                shown.append(
                    "\n\n".join(turn.laid_out(n, one.id) for n, one in enumerate(found, 1))
                )
            elif turn.formatted:
                shown.append(Formatter(prefix=prefix).render(found).text)
            else:
                shown.append("\n\n".join(chunk.text for chunk in found))
        earlier = (
            self.sources.values() if turn.pasted else [self.sources.get(turn.conversation, "")]
        )
        prompt = "\n\n".join([*earlier, *shown, turn.question])
        if turn.conversation is not None:
            self.sources[turn.conversation] = "\n\n".join([*earlier, *shown])
        if turn.answer is None:
            self.learner.learn(Exchange(recalls=recalls, failed=True))
        reply = (
            Reply(prompt=prompt, structured=[turn.structured_reply(prompt)])
            if turn.structured
            else Reply(prompt=prompt, text=turn.reply(prompt))
        )
        thread = turn.conversation or ""
        exchange = Exchange(
            recalls=recalls,
            replies=[reply] * turn.calls,
            output=[reply.text],
            earlier=self.learner.earlier(thread, but=recalls) if thread else (),
            conversation=turn.conversation,
            foreign=[Source("", "Not ours.")],
            actor=turn.user,
            ids=[one.recall.id for one in recalls],
        )
        self.learner.submit(lambda: exchange, background="async" in turn.mode)
        return recalls[0].recall.id if recalls else None

    def judge(self, answer: str, good: bool) -> None:
        self.learner.feedback(answer, good)

    def counts(self) -> dict[str, int]:
        return self.learner.counts

    def close(self) -> None:
        assert self.learner.flush(30)


class TestWithoutAFramework(CitationContract):
    def make_driver(self, index: ScriptedIndex) -> PlainDriver:
        return PlainDriver(index)
