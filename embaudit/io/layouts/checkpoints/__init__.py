"""Facts about the head of a network that a checkpoint keeps next to its arrays.

- `config`: the settings of the network (`config.json`)
- `llama_cpp`: the same from the metadata of GGUF files
- `architectures`: place and convention of the final norm of each family of networks
- `final_norm`: the norm that stands before the head
- `tying`: whether the head is also the table of input embeddings
- `tasks`: what the last layer predicts, if no softmax over its rows follows it
- `row_names`: names of the rows of a head: tokens of a vocabulary, or classes
- `encoders`: how the encoder in a folder was trained, and what to export of it
"""
