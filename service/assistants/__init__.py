"""Other programs that ask: clients of OpenAI's calls, and assistants over the Model Context Protocol."""
