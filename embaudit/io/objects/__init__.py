"""Models that are objects in memory.

- `live`: which reader takes an object, by the library that defines its class
- `arrays`: arrays, data frames and AnnData
- `libraries`: recommenders and word vectors, one module per library
- `scikit_learn`: classifiers and decompositions
- `layers`, `torch_networks`, `torch_last_layer`, `keras_networks` and
  `transformers_models`: networks, with `forward` for calls of a network of torch
- `indexes`: indexes of FAISS and hnswlib, and clients of Qdrant
- `own_scores`: compares the scores of an object with those of the model read from it
"""
