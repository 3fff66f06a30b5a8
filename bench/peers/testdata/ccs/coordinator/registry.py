"""As much of agent-coherence as the worker uses, for the tests, which install
nothing. FENCED_BROKEN has a commit win at any version."""

import os
from dataclasses import replace


class ArtifactRegistry:
    def __init__(self):
        self.artifacts, self.contents = {}, {}

    def register_artifact(self, artifact, content):
        self.artifacts[artifact.id], self.contents[artifact.id] = artifact, content

    def get_artifact(self, id):
        return self.artifacts[id]

    def get_content(self, id):
        return self.contents[id]

    def commit_cas(self, id, agent, *, expected_version, content_hash, content):
        artifact = self.artifacts[id]
        if expected_version != artifact.version and "FENCED_BROKEN" not in os.environ:
            return "version_mismatch"
        self.artifacts[id] = replace(artifact, version=artifact.version + 1, content_hash=content_hash)
        self.contents[id] = content
        return self.artifacts[id], []
