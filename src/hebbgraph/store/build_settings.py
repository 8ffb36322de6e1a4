"""The build settings of a namespace, which are saved in its row when it is made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hebbgraph.errors import DamagedIndexError, SettingsMismatchError
from hebbgraph.store.database import Connection, Database, retried
from hebbgraph.stored_json import read_json

__all__ = ["BuildSettings"]

_SELECT = "SELECT build_settings FROM namespaces WHERE namespace = ?"


class BuildSettings:
    """The saved build settings of one namespace; the name of the tagger is one of them."""

    def __init__(self, database: Database, namespace: str) -> None:
        self.database = database
        self._namespace = namespace

    def saved(self) -> dict[str, Any] | None:
        """Return the saved settings; None if the namespace does not exist."""
        rows = self.database.ask(_SELECT, (self._namespace,))
        return dict(read_json(rows[0][0], dict, "build settings")) if rows else None

    def settle(
        self,
        settings: Mapping[str, Any],
        before: Mapping[str, Any] | None = None,
        *,
        make: bool = False,
    ) -> bool:
        """Compare settings with the saved ones; return whether the namespace exists.

        Parameters
        ----------
        settings : mapping
        before : mapping, optional
            Values of settings that older versions did not save.
        make : bool
            Create the namespace with these settings if it is missing.

        Raises
        ------
        SettingsMismatchError
            If the namespace was built with other settings.
        """
        saved = self.saved()
        if saved is None and make and not self.database.read_only:
            self._make(settings)
            saved = self.saved()
        if saved is None:
            with self.database.read() as connection:
                self._check_orphans(connection)
            return False
        saved = {**(before or {}), **saved}
        for name, value in settings.items():
            if saved.get(name, value) != value:
                raise SettingsMismatchError(
                    f"{self.database.place} (namespace {self._namespace!r}) was built with "
                    f"{name}={saved[name]!r}, got {name}={value!r}; open it with the saved "
                    "value, or build a new index"
                )
        return True

    @retried
    def _make(self, settings: Mapping[str, Any]) -> None:
        with self.database.write() as connection:
            self.database.driver.exclude_others(connection)
            if connection.execute(_SELECT, (self._namespace,)).fetchone() is None:
                self._check_orphans(connection)
                connection.execute(
                    "INSERT INTO namespaces (namespace, generation, floor, build_settings) "
                    "VALUES (?, 0, 0, ?)",
                    (self._namespace, json.dumps(dict(settings), sort_keys=True)),
                )

    def _check_orphans(self, connection: Connection) -> None:
        orphans = "SELECT row FROM chunks WHERE namespace = ? LIMIT 1"
        if connection.execute(orphans, (self._namespace,)).fetchone() is not None:
            raise DamagedIndexError(
                f"{self.database.place}: namespace {self._namespace!r} has chunks, and its "
                "own row is gone; restore a backup"
            )

    # -- the tagger -----------------------------------------------------------------

    def settle_tagger(self, tagger: str, *, replace: bool = False) -> None:
        """Save the tagger of the namespace; with ``replace``, in place of another one.

        Raises
        ------
        SettingsMismatchError
            If another tagger is saved, without ``replace``.
        """
        if not (self._is_saved(self.saved() or {}, tagger, replace) or self.database.read_only):
            self._save_tagger(tagger, replace)

    def _is_saved(self, saved: Mapping[str, Any], tagger: str, replace: bool) -> bool:
        """Return whether this tagger is saved; SettingsMismatchError if another one is."""
        if saved.get("tagger", tagger) != tagger and not replace:
            raise SettingsMismatchError(
                f"{self.database.place} (namespace {self._namespace!r}) is tagged by "
                f"{saved['tagger']!r}, got {tagger!r}; open it with that one or without a "
                "tagger, and call retag(tagger) to change it"
            )
        return saved.get("tagger") == tagger

    @retried
    def _save_tagger(self, tagger: str, replace: bool) -> None:
        with self.database.write() as connection:
            # Read again under the lock: another process may have saved one meanwhile.
            row = connection.execute(
                _SELECT + self.database.driver.for_update, (self._namespace,)
            ).fetchone()
            saved = read_json(row[0] if row else "{}", dict, "build settings")
            if not self._is_saved(saved, tagger, replace):
                changed = json.dumps(saved | {"tagger": tagger}, sort_keys=True)
                connection.execute(
                    "UPDATE namespaces SET build_settings = ? WHERE namespace = ?",
                    (changed, self._namespace),
                )
