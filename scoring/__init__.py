"""What a model is for: scores, vectors, reranking, tuning, error rates."""
