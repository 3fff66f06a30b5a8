"""Works on a registry of agent-coherence as it is told on standard input.

    worker.py memory|sqlite

A line "load N SIZE" adds N artifacts with values of SIZE bytes, "update COUNT
uniform|hot" reads, derives and commits COUNT times, in a random order or one
artifact over and over, "collect" collects garbage. Each is answered by a line
when it is done, "done" and the processor time that it took, in ms.
"""

import gc
import itertools
import random
import sys
import tempfile
import time
from pathlib import Path
from uuid import uuid4

from ccs.coordinator.registry import ArtifactRegistry
from ccs.coordinator.sqlite_registry import SqliteArtifactRegistry
from ccs.core.hashing import compute_content_hash
from ccs.core.types import Artifact

AGENT = uuid4()


def derive(content, counter):
    """The next value: as long as the last one, and another."""
    return f"{counter:08d}" + content[8:]


def swap(registry, artifact, content):
    """Commits content if the artifact is still at its version; did it land?"""
    result = registry.commit_cas(
        artifact.id,
        AGENT,
        expected_version=artifact.version,
        content_hash=compute_content_hash(content),
        content=content,
    )
    return isinstance(result, tuple)


class Records:
    def __init__(self, registry, keeps_content, n, size):
        self.registry, self.keeps_content = registry, keeps_content
        self.content, self.ids, self.counter = "x" * size, [], 0
        for i in range(n):
            content = random.randbytes((size + 1) // 2).hex()[:size]
            artifact = Artifact(name=f"orders/{i:09d}", version=1, content_hash=compute_content_hash(content))
            registry.register_artifact(artifact, content)
            self.ids.append(artifact.id)
        self.order = itertools.cycle(random.sample(self.ids, n))
        self.check()

    def check(self):
        """A commit at an old version is refused, or this measures something else."""
        old = self.registry.get_artifact(self.ids[0])
        if not swap(self.registry, old, self.content) or swap(self.registry, old, self.content):
            sys.exit("commit_cas is no versioned compare-and-swap")

    def update(self, count, hot):
        ids = itertools.repeat(self.ids[0], count) if hot else itertools.islice(self.order, count)
        registry, content = self.registry, self.content
        for id in ids:
            self.counter += 1
            artifact = registry.get_artifact(id)
            if self.keeps_content:
                content = registry.get_content(id)
            if not swap(registry, artifact, derive(content, self.counter)):
                sys.exit("refused")


def serve(kind, directory):
    if kind == "memory":
        registry = ArtifactRegistry()
    else:
        registry = SqliteArtifactRegistry(Path(directory) / "registry.db")
    records = None
    for line in sys.stdin:
        start = time.process_time()
        match line.split():
            case ["load", n, size]:
                records = Records(registry, kind == "memory", int(n), int(size))
            case ["update", count, order]:
                records.update(int(count), order == "hot")
            case ["collect"]:
                gc.collect()
            case _:
                sys.exit(f"what is {line!r}?")
        print("done", (time.process_time() - start) * 1e3, flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        serve(sys.argv[1], directory)
