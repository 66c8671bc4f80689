//! Name resolution, diagnostics and the canonical blueprint of .rag files.
