import CommandLineKit
import Testing

@Suite("the command reference")
struct ReferenceTests {
    private static let text = Reference.markdown(Toy.program)

    @Test("each section is a heading, each command a line and a table")
    func commands() {
        #expect(
            Self.text.hasPrefix(
                """
                ### Carry

                `toy send [options] [KIND] PLACE`<br>
                Send a parcel.

                | option | meaning |
                | --- | --- |
                | `KIND` | what it is |
                | `PLACE` | where it goes |
                | `--speed SPEED` | how fast it goes (`slow`, `fast` or `instant`; default: slow) |
                | `-w, --weight N` | its weight in grams (default: 100) |
                | `--parcels N` | how many there are (default: one) |
                | `-s, --stamp NAME` | a stamp to put on it (repeatable) |
                | `--label-file FILE` | a file with the label |
                | `-f, --fragile` | handle it with care |

                `toy track [options] [PARCEL...]`<br>
                Say where a parcel is.

                """))
    }

    @Test("shared options are listed once, at the end")
    func shared() {
        #expect(
            Self.text.hasSuffix(
                """
                ### Common options

                For every command.

                | option | meaning |
                | --- | --- |
                | `-p, --profile NAME` | the profile to use (or `$TOY_PROFILE`) |
                | `-o, --output text\\|json` | how to answer (default: text) |
                | `-v, --verbose` | say more |
                | `-q, --quiet` | say less |
                | `-h, --help` | show this help |
                | `--version` | show the version |

                ### Places

                For `send`.

                | option | meaning |
                | --- | --- |
                | `--sender PLACE` | where it comes from |

                """))
        #expect(!Self.text.contains("secret"))
    }
}
