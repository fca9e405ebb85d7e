"""Part of RayDB."""
