"""The commands of ``storyqa``, each a plain function that imports what it needs when it runs."""
