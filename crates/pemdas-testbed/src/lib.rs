//! A real Kubernetes.
