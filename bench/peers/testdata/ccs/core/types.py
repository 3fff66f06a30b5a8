from dataclasses import dataclass, field
from uuid import UUID, uuid4


@dataclass(frozen=True)
class Artifact:
    name: str
    version: int
    content_hash: str
    id: UUID = field(default_factory=uuid4)
