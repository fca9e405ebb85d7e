"""The command `raydb`: SQL on a terminal, and SQL from scripts. It uses the public API only.

    cli           the command line: options, exit codes, other commands such as `flat inspect`
    session       what a statement, a dot command or a script does, whoever gives it
    script        where one statement of a text ends and the next one begins
    commands      the dot commands; schema and settings are what some of them work with
    error_display an error with the place in the statement
    repl          the terminal: editing, history, completion, highlighting
    render/       the shapes of an answer (modes, box), what its values look like (words), where it
                  goes (output: the terminal, a pager, a file), the bar of long work (progress)

What only a terminal needs (prompt_toolkit, rich) is imported there.
"""

from raydb.late import import_on_use

import_on_use(__name__)
