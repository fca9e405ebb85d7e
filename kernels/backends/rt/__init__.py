"""Fused jobs on ray-tracing cores: triangles, rays and a device program (RayDB, section 3)."""
