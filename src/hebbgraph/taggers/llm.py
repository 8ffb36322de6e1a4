"""Tags from a language model: several chunks per call, parallel calls, stored answers."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

from hebbgraph.calling import RateLimiter, call_with_timeout, retrying
from hebbgraph.errors import ParameterError
from hebbgraph.formulas.parameters import check_positive, check_range
from hebbgraph.models import model_name, wrap_model
from hebbgraph.protocols import AnswerStore
from hebbgraph.records import Chunk, TaggingReport
from hebbgraph.taggers.output import GarbledAnswerError, clean_tags, occurs_in, parse_tags
from hebbgraph.taggers.prompt import PROMPT_VERSION, tag_prompt
from hebbgraph.text import phrase_key

__all__ = ["LLMTagger"]

MAX_VOCABULARY = 2000
_REASON_CHARACTERS = 200
_SINGLES = 3  # if this many single chunks of a failed group fail too, skip the others


class LLMTagger:
    """Asks a language model for a fixed number of tags per chunk (extra ``llm``).

    The tags are added to those found without a model. A chunk whose tagging fails keeps only the
    latter and is listed in the report. Answers are stored in the index as they arrive, by content,
    prompt and model, so a second run makes no calls and an interrupted run resumes.

    Chunk texts are never treated as instructions. They are quoted as JSON between random
    boundaries. Answers are parsed as data of a fixed form; tags are limited in number and length,
    reduced to letters and digits, and by default must occur in the chunk's own text. So a
    hostile text can at worst choose its own tags from its own words.

    Parameters
    ----------
    model : object
        A LangChain chat model, a LlamaIndex LLM, or a callable from str to str.
    tags_per_chunk : int, at least 1
        Number of tags to ask for, and the maximum kept.
    domain : str
        What to look for: "contract law: parties, clauses, deadlines".
    vocabulary : iterable of str
        If given, tags are chosen from these only.
    from_text : bool
        Keep only tags that occur in the chunk's title or text, up to inflection. If False,
        the model may also name what is only implied, and a hostile text may suggest any
        tag for the chunks in the same call.
    chunks_per_call : int, at least 1
    max_characters : int, at least 1
        Text sent per chunk; the rest is omitted.
    concurrency : int, at least 1
        Number of parallel calls.
    requests_per_minute : float, optional
    timeout_seconds : float, positive
        Timeout of one call. A stalled call continues in the background, since threads
        cannot be killed.
    retries : int, at least 0
        How often to retry a group of chunks, with exponential backoff. Chunks that still
        have no tags are then asked about one by one, with as many retries.
    retry_wait_seconds : float, at least 0
        Maximal wait before the first retry; doubles with each retry.
    give_up_after : int, at least 1
        Stop asking after this many consecutive groups without any answer.
    name : str, optional
        Name of the model in the key of stored answers; by default, the model's own.
    language : str
        Language of the stemmer that compares tags with text.

    Raises
    ------
    ParameterError
    MissingExtraError
        If tenacity is not installed.

    Examples
    --------
    >>> def model(prompt):
    ...     return '{"passages": [{"number": 1, "tags": ["Ice Trade", "made up"]}]}'
    >>> LLMTagger(model, chunks_per_call=1)(Chunk(text="She was built for the ice trade."))
    ('ice trade',)
    """

    def __init__(
        self,
        model: Any,
        *,
        tags_per_chunk: int = 10,
        domain: str = "",
        vocabulary: Sequence[str] = (),
        from_text: bool = True,
        chunks_per_call: int = 8,
        max_characters: int = 8000,
        concurrency: int = 4,
        requests_per_minute: float | None = None,
        timeout_seconds: float = 120.0,
        retries: int = 3,
        retry_wait_seconds: float = 1.0,
        give_up_after: int = 10,
        name: str | None = None,
        language: str = "english",
    ) -> None:
        self._ask = wrap_model(model)
        self.model_name = name or model_name(model)
        self.tags_per_chunk = tags_per_chunk
        self.domain = domain
        self.vocabulary = tuple(vocabulary)
        self.from_text = from_text
        self.chunks_per_call = chunks_per_call
        self.max_characters = max_characters
        self.concurrency = concurrency
        self.requests_per_minute = requests_per_minute
        self.timeout_seconds = timeout_seconds
        self.retries = retries
        self.retry_wait_seconds = retry_wait_seconds
        self.give_up_after = give_up_after
        self.language = language
        counts = "tags_per_chunk chunks_per_call max_characters concurrency give_up_after"
        check_range(self, counts.split(), 1)
        check_range(self, ("retries", "retry_wait_seconds"), 0)
        check_positive(self, ("timeout_seconds",))
        if requests_per_minute is not None:
            check_positive(self, ("requests_per_minute",))
        if len(self.vocabulary) > MAX_VOCABULARY:
            raise ParameterError(
                f"vocabulary must have at most {MAX_VOCABULARY} phrases to fit a prompt, "
                f"got {len(self.vocabulary)}"
            )
        self._vocabulary_keys = frozenset(filter(None, map(phrase_key, self.vocabulary)))
        if self.vocabulary and not self._vocabulary_keys:
            raise ParameterError("no phrase of the vocabulary can be a tag")
        self._rate_limiter = RateLimiter(requests_per_minute)
        retrying(retries, retry_wait_seconds, threading.Event())  # fail now if tenacity is missing

    @property
    def name(self) -> str:
        """Model and prompt. Answers stored under one name are interchangeable."""
        parts = [
            PROMPT_VERSION,
            self.model_name,
            self.tags_per_chunk,
            self.domain,
            self.vocabulary,
            self.from_text,
            self.max_characters,
            self.language,
        ]
        digest = blake2b(json.dumps(parts).encode(), digest_size=8).hexdigest()
        return f"llm:{self.model_name[:100]}:{digest}"

    def __call__(self, chunk: Chunk, /) -> tuple[str, ...]:
        """Tag one chunk; returns no tags if that fails."""
        return self.tag_chunks([chunk])[0][0]

    def tag_chunks(
        self,
        chunks: Sequence[Chunk],
        /,
        *,
        store: AnswerStore | None = None,
        on_progress: Callable[[int], object] | None = None,
    ) -> tuple[list[tuple[str, ...]], TaggingReport]:
        """Tag many chunks.

        Parameters
        ----------
        chunks : sequence of Chunk
        store : AnswerStore, optional
            Read first; receives each answer as it arrives.
        on_progress : callable, optional
            Called with the number of chunks done, including failed ones.

        Returns
        -------
        list of tuple of str, TaggingReport
            Tags by position, empty where tagging failed; and a report.
        """
        tags: dict[int, tuple[str, ...]] = {}
        if store is not None:
            tags.update(store.get(self.name, chunks))
        n_cached = len(tags)
        # Ask only once about chunks with equal content.
        first: dict[tuple[str, str], int] = {}
        first_of = {at: first.setdefault((c.title, c.text), at) for at, c in enumerate(chunks)}
        missing = [at for at in range(len(chunks)) if at not in tags and first_of[at] == at]
        run = _Run(self, chunks, missing)
        failed = run.failed
        if on_progress is not None:
            on_progress(n_cached)
        for answers in run.answers():
            if answers and store is not None:
                store.put(self.name, {at: (chunks[at], found) for at, found in answers.items()})
            tags.update(answers)
            if on_progress is not None:
                on_progress(len(tags) + len(failed))
        for at, equal in first_of.items():
            if at not in tags and equal in tags:
                tags[at] = tags[equal]
            elif at not in tags:
                failed.setdefault(at, failed[equal])
        report = TaggingReport(
            tagged=len(tags),
            cached=n_cached,
            failed=tuple((chunks[at].id, reason) for at, reason in sorted(failed.items())),
            calls=run.calls,
            input_tokens=run.tokens[0],
            output_tokens=run.tokens[1],
        )
        return [tags.get(at, ()) for at in range(len(chunks))], report

    # -- calling --------------------------------------------------------------------

    def prompt(self, chunks: Sequence[Chunk]) -> str:
        """Return the prompt for some chunks."""
        return tag_prompt(
            chunks,
            count=self.tags_per_chunk,
            domain=self.domain,
            vocabulary=self.vocabulary,
            from_text=self.from_text,
            max_characters=self.max_characters,
        )

    def read(self, answer: str, chunks: Sequence[Chunk]) -> dict[int, tuple[str, ...]]:
        """Parse an answer about some chunks; return usable tags by position.

        Raises
        ------
        GarbledAnswerError
        """
        usable = {
            at: clean_tags(tags, self.tags_per_chunk, self._accepts(chunks[at]))
            for at, tags in parse_tags(answer, len(chunks)).items()
        }
        return {at: tags for at, tags in usable.items() if tags}

    def _accepts(self, chunk: Chunk) -> Callable[[str], bool]:
        if self._vocabulary_keys:
            return self._vocabulary_keys.__contains__
        return occurs_in(chunk, self.language) if self.from_text else lambda tag: True


class _Run:
    """The state of one call of :meth:`LLMTagger.tag_chunks`, shared by its threads."""

    def __init__(self, tagger: LLMTagger, chunks: Sequence[Chunk], missing: list[int]) -> None:
        self.tagger = tagger
        self.chunks = chunks
        self.failed: dict[int, str] = {}
        self.calls = 0
        self.tokens = (0, 0)
        size = tagger.chunks_per_call
        self._groups = [missing[at : at + size] for at in range(0, len(missing), size)]
        #: Tags by position, the exception of a thread, or None when a thread is done.
        self._messages: queue.SimpleQueue[dict[int, tuple[str, ...]] | BaseException | None]
        self._messages = queue.SimpleQueue()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._silent_groups = 0

    def answers(self) -> Iterator[dict[int, tuple[str, ...]]]:
        """Run the calls in threads; yield tags by position in the calling thread."""
        n_running = min(self.tagger.concurrency, len(self._groups))
        self._groups.reverse()  # threads pop from the end
        for _ in range(n_running):
            threading.Thread(target=self._work, name="hebbgraph-tagger", daemon=True).start()
        try:
            while n_running:
                message = self._messages.get()
                if isinstance(message, BaseException):
                    raise message
                n_running -= message is None
                yield message or {}
        finally:
            self._stop.set()

    def _work(self) -> None:
        """Process groups until none is left."""
        try:
            while not self._stop.is_set():
                with self._lock:
                    if not self._groups:
                        break
                    group = self._groups.pop()
                self._tag_group(group)
                self._messages.put({})  # failures are progress too
        except BaseException as error:  # a bug of ours, not the model's: raise it in the caller
            self._messages.put(error)
        finally:
            self._messages.put(None)

    def _tag_group(self, group: list[int]) -> None:
        tagger = self.tagger
        if self._silent_groups >= tagger.give_up_after:
            reason = f"not asked: {self._silent_groups} calls in a row had failed"
            self.failed.update(dict.fromkeys(group, reason))
            return
        pending = self._ask_with_retries(group)
        if len(group) > 1:
            # One chunk may spoil the answer for the whole group, so ask about each one alone.
            for tried, at in enumerate(list(pending)):
                if self._stop.is_set() or (tried >= _SINGLES and len(pending) == len(group)):
                    break  # the model fails on any chunk
                if failure := self._ask_with_retries([at]):
                    pending.update(failure)
                else:
                    del pending[at]
        with self._lock:
            self._silent_groups = self._silent_groups + 1 if len(pending) == len(group) else 0
        self.failed.update(pending)

    def _ask_with_retries(self, group: list[int]) -> dict[int, str]:
        """Ask about a group; return the reason of failure for each chunk without tags."""
        tagger = self.tagger
        pending = dict.fromkeys(group, "interrupted")
        try:
            for attempt in retrying(tagger.retries, tagger.retry_wait_seconds, self._stop):
                with attempt:
                    self._ask(pending)
        except Exception as error:  # reported per chunk
            pending.update(dict.fromkeys(pending, _reason(error)))
        return pending

    def _ask(self, pending: dict[int, str]) -> None:
        """Ask once; remove answered chunks from ``pending``, and raise if any remain."""
        tagger = self.tagger
        order = list(pending)
        chunks = [self.chunks[at] for at in order]
        tagger._rate_limiter.wait(self._stop)
        if self._stop.is_set():  # the caller is gone, so do not pay for more calls
            raise InterruptedError("the caller has stopped")
        tokens = (0, 0)
        try:
            answer = call_with_timeout(
                tagger.timeout_seconds, lambda: tagger._ask(tagger.prompt(chunks))
            )
            tokens = (answer.input_tokens, answer.output_tokens)
        finally:
            with self._lock:
                self.calls += 1
                self.tokens = (self.tokens[0] + tokens[0], self.tokens[1] + tokens[1])
            self._messages.put({})  # the caller may want to stop
        tags_of = {order[at]: tags for at, tags in tagger.read(answer.text, chunks).items()}
        self._messages.put(tags_of)
        for at in tags_of:
            del pending[at]
        if pending:
            raise GarbledAnswerError(f"no usable tags for {len(pending)} of {len(order)} chunks")


def _reason(error: BaseException) -> str:
    text = "".join(char if char.isprintable() else " " for char in str(error))
    return f"{type(error).__name__}: {' '.join(text.split())}"[:_REASON_CHARACTERS]
