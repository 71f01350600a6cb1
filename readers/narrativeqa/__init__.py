"""The systems of the NarrativeQA paper (Kočiský et al. 2018), sections 4 and 5, as readers."""
