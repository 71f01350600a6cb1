"""Words that stand beside the names of persons and of places, and words with a capital that are no names."""

from __future__ import annotations

import re

POSSESSIVE = re.compile(r"['’]s?$")
WITHIN = frozenset(("in", "within", "into", "near", "throughout", "around"))
AT = frozenset(("at", "outside", "leaving", "left", "reached", "across", "via"))
TOWARDS = frozenset(("to", "from", "through", "towards", "toward", "for", "beyond"))
SPEECH = frozenset(
    re.findall(
        r"\S+",
        """said says asked replied cried answered exclaimed murmured whispered returned continued remarked
        observed demanded muttered shouted added inquired enquired thought quoth interrupted
        laughed responded retorted repeated""",
    )
)
HUMAN = SPEECH | frozenset(
    re.findall(
        r"\S+",
        """say asks began told knew felt looked saw smiled nodded turned stood sat took had was could would
        did went came gave made got put ran spoke heard found sprang rose shook drew wanted
        loved seemed tried sighed paused stopped hesitated has is will must should might does
        looks goes comes knows thinks who whom himself herself""",
    )
)
HE, SHE = frozenset(("he", "him", "his", "himself")), frozenset(("she", "her", "hers", "herself"))
PERSONAL = (
    HE
    | SHE
    | frozenset(re.findall(r"\S+", "i me my mine you your yours we us our ours they them their theirs"))
)
SAINT = frozenset(("st", "saint"))  # after whom places are called, too
# Words that have a capital by use, and name neither somebody nor somewhere.
NONE = frozenset(
    re.findall(
        r"\S+",
        """i o oh ah god heaven christmas easter english french german dutch spanish italian american
        british russian irish scotch scottish welsh greek roman latin indian chinese jewish
        christian catholic protestant african european turkish arabic chapter book part act scene
        volume illustration gutenberg project transcriber note footnote contents mr mrs ms miss dr esq
        highness majesty lordship ladyship excellency honour worship he she it we
        you they thou thee me him us them his her its our your their my thy""",
    )
)
# These name somebody only where a title or a verb of speech is beside them often: Mrs. March, said Friday.
DATES = frozenset(
    re.findall(
        r"\S+",
        """monday tuesday wednesday thursday friday saturday sunday january february march april june july
        august september october november december spring summer autumn winter""",
    )
)
# These name somebody only where they do it often.
COMMON = frozenset(
    re.findall(
        r"\S+",
        """a an the this that these those and or but nor for so yet if when while where who whom whose what
        which why how then than there here now as at by in of on to from with without one two
        three all some no not yes nay none each every like be is are was were been do did does
        have has had will would shall should can could may might must let come go see look well
        good perhaps after before until till though although because since once only ever never
        even just still again too very more most much such any other another up down out over
        upon into about through""",
    )
)
HEADING = frozenset(
    re.findall(r"\S+", "act scene chapter part book the end volume canto prologue epilogue exit enter")
)
