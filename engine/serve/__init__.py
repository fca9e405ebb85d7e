"""The Flight SQL server `raydb serve`, on pyarrow.flight, which gives the transport alone.

command         the command line: where to listen, certificates, tokens; Ctrl-C
listening       what it has in common with the server of a page
server          which command of Flight SQL is answered by what
clients         who speaks: a connection, transactions, prepared statements, results to fetch
catalog         what clients ask of databases, schemas, tables and keys
facts           what clients ask of the server: SqlInfo, and the types of SQL
messages        the protobuf messages of the protocol
failures        PEP 249's errors as Flight's
tokens          who may speak
"""

from raydb.late import import_on_use

import_on_use(__name__)
