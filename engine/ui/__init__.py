"""The page of `raydb ui` and `con.ui()`, on Starlette and uvicorn, which give HTTP alone.

command         the command line: where to listen, the browser, Ctrl-C
server          a server in a thread of its own, with the address of the page
gate            who may ask: Host, Origin, token; what browsers are told about safety
routes          which address is answered by what
pages           the pages that are open, and their tabs: a connection each
runs            a text of a tab: its statements, one after the other, and what is told of them
plans           how a query runs, and its times with BVHs and without
tuning          the BVHs that the queries of the history ask for
downloads       results as files, which are fetched once
uploads         files that were dropped on a page, until they are imported
typing_aids     completion and history
rows_file       the rows of a result in a temporary file, of which windows are read
windows         some rows as texts, as the page shows them
page/           what the browser gets: HTML, CSS, ES modules, and vendor/ of other people's code
"""

from raydb.late import import_on_use

import_on_use(__name__)
