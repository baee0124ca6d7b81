/** Texts of our own to try the page with, and questions to ask them; the last of each has no answer there. */

export interface Example {
  title: string;
  kind: string;
  questions: readonly string[];
  text: string;
}

export const EXAMPLES: readonly Example[] = [
  {
    title: "The clock of Ambleford",
    kind: "A town's history",
    questions: [
      "Why was the clock stopped?",
      "Who built the clock?",
      "How many steps lead up to the bells?",
      "How tall is the tower?",
    ],
    text: `The clock in the tower of Ambleford has shown the right time since 1687, apart from eleven years in which it showed none at all. It was built by Tobias Wren-Hartley, a locksmith who had never made a clock before, and who asked for no money but for a room in the tower with a view of the river. He lived in it until he was ninety-one.

The works weigh two tonnes and are driven by three stones that hang in a shaft as deep as a well. Every Monday somebody has to wind them up again, which takes forty minutes and some breath: 148 steps lead up to the bells, and the crank is above them. For the last thirty years that somebody has been Petra Voss, who teaches mathematics at the grammar school and says that she has her best ideas on the way down.

In 1940 the town council had the clock stopped because its light could be seen from the air. When it was to be started again in 1945, a family of jackdaws was found to have filled the shaft with twigs to a height of six metres. The council met, and voted by nine to four to wait until the young had flown. Then money was short, and it was 1951 before the hands moved.

The face on the north side is painted, not carved. It was meant to be temporary, until a sculptor could be paid, and has been renewed eight times since; the present one, from 1998, is by Ines Calloway, who hid her cat among the roman numerals. Visitors are given a card on which they may write down the hour where they found it. So far, about one in five has been right.`,
  },
  {
    title: "Renting the boathouse",
    kind: "A contract",
    questions: [
      "How much is the deposit?",
      "How long before must I cancel?",
      "When does the music end?",
      "May I bring my dog?",
    ],
    text: `Terms for the use of the boathouse at Lake Merrin

1. The boathouse is let by the Merrin Rowing Society, registered in Calder, to members and their guests. Whoever signs for a booking must be at least eighteen years old and must be present for as long as it lasts.

2. A day costs 85 pounds and begins at eight in the morning; an evening costs 50 pounds and begins at five. A deposit of 120 pounds is paid with the booking and returned within ten days, less the cost of what was lost or damaged.

3. A booking may be cancelled free of charge up to fourteen days before it begins. After that half of the price is owed, and on the day itself all of it, unless the Society finds somebody else to take the day.

4. The six rowing boats may be used by those who can swim. Life jackets hang beside the door in four sizes and are to be worn on the water at all times, by children on the landing stage too. Oars that break in ordinary use are replaced by the Society; oars that were left in the sun are paid for by whoever left them there.

5. Fires are allowed in the iron bowl behind the house and nowhere else. Music ends at ten o'clock, because the bitterns in the reeds do not read contracts.

6. The house is left swept, with the shutters closed and the key in the box with the number lock. The number changes every month and is sent to the person who signed on the evening before the booking.

7. The Society is insured against damage that its own boats and buildings cause. It is not liable for belongings that were left in the house, nor for anything that falls into the lake.`,
  },
  {
    title: "How a loaf rises",
    kind: "An explanation",
    questions: [
      "Why does a loaf rise?",
      "At what temperature does yeast die?",
      "Why does salt slow the dough down?",
      "Who invented the oven?",
    ],
    text: `A loaf rises because yeast breathes. Yeast is a fungus of a single cell; in a dough it eats the sugars that enzymes cut from the starch of the flour, and gives off carbon dioxide and a little alcohol. The gas gathers in bubbles that the kneading put there. Yeast makes none itself: it only blows up those that it finds.

That the bubbles stay is the work of gluten. Two proteins of wheat, gliadin and glutenin, are of little use when they are dry, but join to long elastic strands once they are wet and moved. Kneading lays the strands side by side, and the sheets that they form hold the bubbles like the skin of a balloon. Rye has hardly any gluten, which is why bread of rye alone is low and dense; its bubbles are held by gums, and only for a short time.

Warmth makes all of this faster. At 27 °C a dough doubles in about an hour, in a refrigerator in a night. Slow doughs taste of more, because bacteria have time to make acids, and because enzymes go on cutting starch into sugar that later browns the crust. Salt slows the dough down: it draws water out of the cells of the yeast. A dough that was left without it rises quickly, and collapses quickly too.

In the oven the last rise takes ten minutes. The gas expands, the alcohol and some water turn to steam, and the yeast works in haste until it dies at about 55 °C. At 70 °C the gluten sets and the starch swells, and what was a foam becomes a sponge: the walls of the bubbles break, and the gas can leave without the loaf falling. The crust is brown when its surface has reached 150 °C, while the crumb never gets hotter than water boils.`,
  },
];
