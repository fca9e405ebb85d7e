"""What neither the newest version of a database nor a reader needs, and its removal."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from raydb.storage.durable.database_files import TEMPORARY, DatabaseFiles, log_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.storage.durable.manifest import Manifest


def collect_garbage(
    disk: DatabaseFiles, newest: Manifest, in_use: Callable[[], set[str]]
) -> list[str]:
    """Remove it and return the names.

    in_use: returns the data files that no manifest names, and are needed.
    """
    removed, kept = _collect_manifests(disk, newest)
    logs = {log_name(manifest) for manifest in kept}
    garbage = [f"wal/{name}" for name in disk.log_names() if name not in logs]
    present = disk.data_names()
    # Asked for after the names: a file that is written meanwhile is here or not listed.
    needed = in_use() | {name for manifest in kept for name in manifest.files}
    garbage += [f"data/{name}" for name in present if name.removesuffix(TEMPORARY) not in needed]
    for name in garbage:
        with suppress(FileNotFoundError):  # a writing that failed has removed it itself
            disk.system.unlink(disk.path / name)
    return removed + garbage


def _collect_manifests(disk: DatabaseFiles, newest: Manifest) -> tuple[list[str], list[Manifest]]:
    """Remove the manifests that nobody needs; return their names, and the manifests kept."""
    removed, kept = [], [newest]
    for version in disk.versions():
        if version == newest.version:
            continue
        # A newer one than ours is left by a commit that failed at its last sync.
        pin = None
        if version < newest.version:
            path = disk.manifest_path(version)
            pin = disk.system.lock(path, exclusive=True, create=False)
        if pin is None:
            kept.append(disk.read_manifest(version))
            continue
        try:
            disk.system.unlink(disk.manifest_path(version))
        finally:
            pin.close()
        removed.append(f"manifests/{version}.man")
    for name in disk.temporary_manifests():
        disk.system.unlink(disk.path / "manifests" / name)
        removed.append(f"manifests/{name}")
    return removed, kept
