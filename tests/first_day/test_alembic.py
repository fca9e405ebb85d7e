"""Migrations with Alembic: upgrade, autogenerate, downgrade."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

sa = pytest.importorskip("sqlalchemy")
pytest.importorskip("alembic", minversion="1.18")

from alembic import command  # noqa: E402
from alembic.autogenerate import compare_metadata  # noqa: E402
from alembic.config import Config  # noqa: E402
from alembic.migration import MigrationContext  # noqa: E402
from alembic.operations import Operations  # noqa: E402

if TYPE_CHECKING:
    from pathlib import Path

ENVIRONMENT = """
from alembic import context
import sqlalchemy as sa

engine = sa.create_engine(context.config.get_main_option("sqlalchemy.url"))
with engine.connect() as connection:
    context.configure(connection=connection)
    with context.begin_transaction():
        context.run_migrations()
"""
FIRST = """
revision, down_revision = "1", None
from alembic import op
import sqlalchemy as sa

def upgrade():
    op.create_table(
        "shop", sa.Column("id", sa.Integer, primary_key=True), sa.Column("name", sa.String(20))
    )

def downgrade():
    op.drop_table("shop")
"""
SECOND = """
revision, down_revision = "2", "1"
from alembic import op
import sqlalchemy as sa

def upgrade():
    op.add_column("shop", sa.Column("city", sa.String, nullable=False, server_default="Oslo"))
    op.create_index("shop_city", "shop", ["city"])
    op.execute("INSERT INTO shop (name) VALUES ('a'), ('b')")

def downgrade():
    op.drop_index("shop_city", "shop")
    op.drop_column("shop", "city")
"""
BROKEN = """
revision, down_revision = "3", "2"
from alembic import op

def upgrade():
    op.drop_column("shop", "name")
    op.execute("UPDATE shop SET nothing = 1")
"""


def test_scripts(tmp_path: Path) -> None:
    scripts = tmp_path / "migrations"
    (scripts / "versions").mkdir(parents=True)
    (scripts / "env.py").write_text(ENVIRONMENT)
    (scripts / "versions/first.py").write_text(FIRST)
    (scripts / "versions/second.py").write_text(SECOND)
    config = Config()
    config.set_main_option("script_location", str(scripts))
    url = f"raydb:///{tmp_path / 'shop.raydb'}"
    config.set_main_option("sqlalchemy.url", url)
    command.upgrade(config, "head")
    engine = sa.create_engine(url)
    with engine.connect() as con:
        assert con.execute(sa.text("SELECT id, name, city FROM shop")).all() == [
            (1, "a", "Oslo"),
            (2, "b", "Oslo"),
        ]
    (scripts / "versions/third.py").write_text(BROKEN)
    with pytest.raises(sa.exc.ProgrammingError, match="column 'nothing' does not exist"):
        command.upgrade(config, "head")
    with engine.connect() as con:
        assert con.execute(sa.text("SELECT name FROM shop")).all() == [("a",), ("b",)]
        assert con.execute(sa.text("SELECT * FROM alembic_version")).all() == [("2",)]
    command.downgrade(config, "1")
    assert [column["name"] for column in sa.inspect(engine).get_columns("shop")] == ["id", "name"]
    command.downgrade(config, "base")
    assert sa.inspect(engine).get_table_names() == ["alembic_version"]


def tables() -> sa.MetaData:
    metadata = sa.MetaData()
    sa.Table(
        "shop",
        metadata,
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(50), nullable=False, unique=True, server_default="it's"),
        sa.Column("code", sa.Uuid),
        sa.Column("open", sa.Boolean, server_default=sa.text("true")),
    )
    sa.Table(
        "sale",
        metadata,
        sa.Column("id", sa.BigInteger, sa.Identity(start=5, always=True), primary_key=True),
        sa.Column("shop", sa.ForeignKey("shop.id", ondelete="CASCADE"), index=True),
        sa.Column("amount", sa.Numeric(9, 2), server_default="0"),
        sa.Column("at", sa.DateTime(timezone=True)),
        sa.Column("took", sa.Interval),
        sa.Column("note", sa.JSON),
        sa.CheckConstraint("amount >= 0", name="positive"),
    )
    return metadata


def differences(connection: sa.Connection, metadata: sa.MetaData) -> list[str]:
    options = {"compare_type": True, "compare_server_default": True}
    context = MigrationContext.configure(connection, opts=options)
    found = compare_metadata(context, metadata)
    return [each[0][0] if isinstance(each, list) else each[0] for each in found]


def test_autogenerate() -> None:
    engine = sa.create_engine("raydb://")
    metadata = tables()
    metadata.create_all(engine)
    with engine.begin() as con:
        assert differences(con, metadata) == []
        changed = tables()
        changed.tables["shop"].c.open.server_default = sa.DefaultClause(sa.text("false"))
        changed.tables["sale"].append_column(sa.Column("added", sa.Integer))
        changed.tables["sale"].c.amount.type = sa.Numeric(12, 2)
        assert sorted(differences(con, changed)) == ["add_column", "modify_default", "modify_type"]


def test_operations() -> None:
    engine = sa.create_engine("raydb://")
    tables().create_all(engine)
    with engine.begin() as con:
        op = Operations(MigrationContext.configure(con))
        op.execute("INSERT INTO shop (name) VALUES ('a'), ('b')")
        op.alter_column("shop", "name", new_column_name="label", server_default=None)
        op.alter_column("shop", "open", type_=sa.String, nullable=False)
        op.create_table("note", sa.Column("shop", sa.Integer), sa.Column("x", sa.SmallInteger))
        op.create_foreign_key("note_shop", "note", "shop", ["shop"], ["id"])
        op.create_unique_constraint("note_x", "note", ["x"])
        op.bulk_insert(sa.table("note", sa.column("shop"), sa.column("x")), [{"shop": 1, "x": 2}])
        op.drop_constraint("note_x", "note")
        op.rename_table("note", "remark")
        with op.batch_alter_table("remark", recreate="always") as batch:
            batch.add_column(sa.Column("y", sa.Integer, server_default="7"))
        assert con.execute(sa.text("SELECT shop, x, y FROM remark")).all() == [(1, 2, 7)]
        assert con.execute(sa.text("SELECT label, open FROM shop")).all() == [
            ("a", "true"),
            ("b", "true"),
        ]


@pytest.mark.parametrize("module", ["raydb.sqlalchemy.migrations", "raydb.sqlalchemy", "alembic"])
def test_any_of_the_modules_can_be_the_first(module):
    known = "from alembic.ddl.impl import _impls; import alembic.autogenerate; _impls['raydb']"
    subprocess.run([sys.executable, "-c", f"import {module}; {known}"], check=True)
