"""A shelf of tiny books of our own, built into a store as any book is."""

from __future__ import annotations

from pathlib import Path

from indexing.book import Book, Chapter
from indexing.build import BuildSettings, build_book
from indexing.store import IndexStore

LANTERN = """\
I. The Lamp

Old Ines kept the lighthouse at Quill Point for thirty years, and in all that time the lamp went
out only once. It was the night her nephew Tobias brought her a jar of blue oil from the city.
“It burns twice as bright,” he said, “and it smells of violets.” Ines, who trusted nobody who
praised a smell, poured a thimble of it into the smallest lamp and waited. The flame stood up,
turned green, and died.

II. The Storm

At nine o'clock the wind came round to the north. Ines climbed the hundred and twelve steps with
a bucket of fish oil, because she had hidden the good oil from Tobias under the stairs, and she
lit the great lamp with a splinter of driftwood. Out on the water the captain of the Marigold,
Mr. Abel Thorne, saw the light and turned his ship away from the Teeth, which are seven black
rocks that have eaten forty boats.

III. The Bill

In the morning Captain Thorne rowed ashore with a barrel of salted plums to thank her. “I owe
you a ship,” he said. Ines told him that he owed her a bucket of fish oil, and that she would
take it by Friday. Tobias went back to the city on foot, since no boat would have him, and the
jar of blue oil 🜁 stands on the sill to this day.
"""

CLOCK = """\
The clockmaker of Vell had two apprentices. The elder, whose name was Ruta, could hear a loose
screw through a wall; the younger, Pim, could not hear his own name when he was reading, and he
was always reading.

When the great clock in the market stopped, the mayor sent for the clockmaker, but the
clockmaker had gone to his sister's wedding in the hills and had taken his glasses with him. So
Ruta and Pim went up the tower alone. Ruta listened to the wheels for an hour and found nothing
loose, nothing bent and nothing broken.

Pim, who had brought a book, noticed that the pendulum had stopped above a nest. In the nest
were four speckled eggs, and on the eggs sat a jackdaw, who looked at him as a judge looks at a
thief.

They told the mayor that the clock was resting. For nineteen days the market of Vell opened when
the baker felt like it and closed when the fish ran out, and on the twentieth day the young
jackdaws flew. Then Ruta gave the pendulum a push with one finger, and the clock struck a
quarter to everything.
"""

WELL = """\
A miller named Odo dug a well behind his barn and struck not water but a door. It was an oak
door, lying flat, with a brass ring in it and a notice that said: KNOCK.

Odo's wife, Hale, who was the braver of the two, knocked. “We are shut on Tuesdays,” said a
voice beneath. So they came back on Wednesday with a loaf of rye bread, and the voice asked for
butter, and they fetched it.

On Thursday the door opened. A small grey woman climbed out, shook the earth from her skirts and
paid them for the bread with a copper key. “It opens nothing yet,” she told Hale. “But somebody
will build the lock.”

Odo filled in the well. Hale kept the key on a nail by the stove, and every stranger who came to
the mill was asked whether he happened to be a locksmith. The forty-first stranger was. His name
was Gallus, and he had been looking for that key since he was a boy.
"""

STORIES = {
    "lantern": ("The Lamp at Quill Point", LANTERN),
    "clock": ("The Clock of Vell", CLOCK),
    "well": ("The Well", WELL),
}

QUESTIONS = (
    ("lantern", "Who kept the lighthouse at Quill Point?"),
    ("lantern", "What did Tobias bring from the city?"),
    ("lantern", "Where had Ines hidden the good oil?"),
    ("lantern", "What did Captain Thorne bring to thank her?"),
    ("clock", "Why had the pendulum stopped?"),
    ("clock", "Where had the clockmaker gone?"),
    ("clock", "How many eggs were in the nest?"),
    ("well", "What did the notice on the door say?"),
    ("well", "What did the small grey woman pay with?"),
    ("well", "What was the name of the locksmith?"),
)


def story(id: str) -> Book:
    """One of the books, its chapters marked where its text marks them."""
    title, text = STORIES[id]
    heads = [line for line in text.split("\n") if line.startswith(("I", "V")) and ". The " in line]
    starts = [text.index(head) for head in heads]
    ends = [*starts[1:], len(text)]
    chapters = tuple(Chapter(head, start, end) for head, start, end in zip(heads, starts, ends, strict=False))
    return Book(id, title, text, f"tests/{id}", chapters)


def stock(root: Path, words: int = 30) -> IndexStore:
    """A store in ``root`` with all the books, in passages so short that sentences run across them."""
    store = IndexStore(root)
    for id in STORIES:
        build_book(story(id), BuildSettings(words=words), store)
    return store
