"""Whether a run's database is made as the program makes it: the check of report/run/schema_check.h."""
import importlib.resources
import re

from reprise import run_schema

# Columns are computed after AS alone, in any case of letters; no column has that name.
_COMPUTED = re.compile(r"(?<![A-Za-z0-9_])as(?![A-Za-z0-9_])", re.IGNORECASE)


def _views():
    """The statements that make the views of rank<N>.sqlite, as the file keeps them."""
    nodes = importlib.resources.files("reprise").joinpath("run_nodes_view.def").read_text(encoding="utf-8")
    views = {nodes.partition('R"sql(')[2].rpartition(')sql"')[0]}
    for table, shared in run_schema.SHARED.items():
        parts = (f"{table}_parts p CROSS JOIN {table}_rows r ON r.rowid BETWEEN p.first AND p.last "
                 f"CROSS JOIN {table}_rows b ON b.rowid = r.rowid - p.back")
        for source, own in ((parts, "r.{0} + p.repetition * (r.{0} - b.{0})"), (f"{table}_rows r", "r.{0}")):
            columns = "".join(f", {f's.{column.name}' if column.name in shared else own.format(column.name)} AS {column.name}"
                              for column in run_schema.TABLES[table] if column.name != "rank")
            views.add(f"CREATE VIEW {table} AS SELECT s.rank AS rank{columns} FROM {source} CROSS JOIN {table}_shared s "
                      "ON s.shared = r.shared")
    return views


VIEWS = _views()


def is_sound(statement):
    """Of what the file's schema is made of; SQLite takes the statement as it stands, not the name and type beside it."""
    if statement.startswith("CREATE TABLE "):
        return not _COMPUTED.search(statement)
    return statement.startswith(("CREATE INDEX ", "CREATE UNIQUE INDEX ")) or statement in VIEWS


def check(connection, path):
    """ValueError where this package does not read the file's version, and where it has a view of another definition, a trigger, or a
    table of a module or with computed columns: reading would run somebody else's query, which need not end."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if not run_schema.OLDEST <= version <= run_schema.VERSION:
        raise ValueError(f"{path}: has schema version {version}, this package reads {run_schema.OLDEST} to {run_schema.VERSION}: "
                         "replay the trace again, or read the run with the version of reprise that wrote it")
    for statement, name in connection.execute("SELECT sql, name FROM sqlite_master WHERE sql IS NOT NULL"):
        if not is_sound(statement):
            raise ValueError(f"{path}: reprise did not define its {name!r}, and reading the file may run that definition; drop it, or get "
                             "the run from its source again")
