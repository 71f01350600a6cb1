"""Other programs that search: retrievers for LangChain, LlamaIndex and Haystack."""
