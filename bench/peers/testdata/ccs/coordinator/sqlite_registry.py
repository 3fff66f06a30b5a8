from ccs.coordinator.registry import ArtifactRegistry


class SqliteArtifactRegistry(ArtifactRegistry):
    def __init__(self, path):
        super().__init__()
        path.touch()
