//! The rag program: run, resume and check durable agents from one file.
