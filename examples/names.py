"""Family names of six languages, for the examples that read and write names."""

NAMES = {
    "Finnish": "Aalto Ahonen Hakala Halonen Heikkinen Hiltunen Jokinen Kallio Karjalainen Kinnunen Koivisto Korhonen "
    "Koskinen Laaksonen Laine Lehtonen Leppanen Makela Manninen Miettinen Mikkola Niemi Nieminen Ojala Peltonen Rantanen "
    "Saarinen Salminen Savolainen Toivonen Tuominen Virtanen",
    "German": "Albrecht Bauer Baumann Becker Bergmann Brandt Fischer Friedrich Graf Gross Hartmann Hofmann Huber Jung "
    "Kaiser Keller Koch Krause Lange Lehmann Meyer Neumann Richter Schmidt Schneider Scholz Schulz Schwarz Vogel Weber "
    "Winkler Zimmermann",
    "Italian": "Amato Barbieri Benedetti Bianchi Bruno Caruso Colombo Conti Costa Esposito Fabbri Ferrara Ferrari Fontana "
    "Gallo Giordano Greco Lombardi Mancini Marchetti Mariani Martinelli Moretti Palumbo Pellegrini Ricci Rinaldi Romano "
    "Rossetti Santoro Vitale Villa",
    "Japanese": "Abe Endo Fujimoto Fujita Fukuda Hasegawa Hayashi Ikeda Inoue Ishikawa Ito Kato Kimura Kobayashi Matsumoto "
    "Mori Murakami Nakajima Nakamura Ogawa Okada Ono Saito Sakamoto Sasaki Sato Suzuki Takahashi Tanaka Watanabe Yamada "
    "Yoshida",
    "Polish": "Adamczyk Baran Borkowski Czarnecki Dabrowski Duda Dudek Grabowski Jankowski Jaworski Kaczmarek Kaminski "
    "Kowalczyk Kowalski Krawczyk Kubiak Lewandowski Majewski Malinowski Mazur Nowak Nowakowski Pawlak Piotrowski Sikora "
    "Szczepanski Tomaszewski Walczak Wisniewski Wojcik Zajac Zielinski",
    "Welsh": "Bevan Bowen Davies Driscoll Edwards Ellis Evans Gittins Glynne Griffiths Gwynne Howells Hughes Jenkins Jones "
    "Kendrick Lewis Llewellyn Lloyd Maddox Meredith Morgan Morris Owen Parry Powell Pritchard Rees Roberts Thomas Vaughan "
    "Williams",
}
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def labelled_names():
    """(name in small letters, number of its language) of all names."""
    return [(name.lower(), number) for number, text in enumerate(NAMES.values()) for name in text.split()]
