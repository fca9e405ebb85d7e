{% macro raydb__create_table_as(temporary, relation, compiled_code) %}
  {%- set contract = config.get('contract') -%}
  {{ config.get('sql_header', none) or '' }}
  {%- if contract.enforced and not temporary %}
    {{ get_assert_columns_equivalent(compiled_code) }}
    create table {{ relation }} {{ get_table_columns_and_constraints() }};
    insert into {{ relation }} ({{ adapter.dispatch('get_column_names', 'dbt')() }}) (
      {{ get_select_subquery(compiled_code) }}
    );
  {%- else %}
    create or replace {{ 'temporary ' if temporary }}table
    {{ relation.include(database=not temporary, schema=not temporary) }} as (
      {{ compiled_code }}
    );
  {%- endif %}
{% endmacro %}

{% macro raydb__create_view_as(relation, sql) %}
  {%- set contract = config.get('contract') -%}
  {{ config.get('sql_header', none) or '' }}
  {%- if contract.enforced %}{{ get_assert_columns_equivalent(sql) }}{% endif %}
  create or replace view {{ relation.render() }} as (
    {{ sql }}
  );
{% endmacro %}

{#- Temporary tables lie in a database of their own, which belongs to the connection. -#}
{% macro raydb__make_temp_relation(base_relation, suffix) %}
  {{ return(base_relation.incorporate(
    path={'database': 'temp', 'schema': 'main', 'identifier': base_relation.identifier ~ suffix},
    type='table'
  )) }}
{% endmacro %}

{% macro raydb__rename_relation(from_relation, to_relation) %}
  {% call statement('rename_relation') %}
    {{ get_rename_sql(from_relation, to_relation.identifier) }}
  {% endcall %}
{% endmacro %}

{% macro raydb__get_rename_table_sql(relation, new_name) %}
  alter table {{ relation.render() }} rename to {{ adapter.quote(new_name) }}
{% endmacro %}

{% macro raydb__get_rename_view_sql(relation, new_name) %}
  alter view {{ relation.render() }} rename to {{ adapter.quote(new_name) }}
{% endmacro %}

{% macro raydb__alter_column_type(relation, column_name, new_column_type) %}
  {% call statement('alter_column_type') %}
    alter table {{ relation.render() }} alter column {{ adapter.quote(column_name) }} type {{ new_column_type }}
  {% endcall %}
{% endmacro %}

{% macro raydb__apply_grants(relation, grant_config, should_revoke) %}
  {% if grant_config %}
    {{ exceptions.raise_compiler_error("RayDB has no users, and no grants: remove `grants` from '" ~ relation.identifier ~ "'") }}
  {% endif %}
{% endmacro %}

{% macro raydb__persist_docs(relation, model, for_relation, for_columns) %}
  {% if (for_relation and config.persist_relation_docs()) or (for_columns and config.persist_column_docs()) %}
    {% do exceptions.warn("RayDB keeps no comments: persist_docs of '" ~ relation.identifier ~ "' does nothing") %}
  {% endif %}
{% endmacro %}

{% macro raydb__get_create_index_sql(relation, index_dict) %}
  {%- set columns = index_dict['columns'] -%}
  {%- set name = 'dbt_' ~ local_md5(relation ~ columns | join(',') ~ index_dict.get('unique', false)) -%}
  create {{ 'unique ' if index_dict.get('unique') }}index {{ name }} on {{ relation.render() }}
  ({% for column in columns %}{{ adapter.quote(column) }}{{ ', ' if not loop.last }}{% endfor %})
{% endmacro %}

{#- Whether a query has all columns of a table or view; it is bound, not run. -#}
{% macro raydb__keeps_columns(existing, sql) %}
  {% set empty = get_empty_subquery_sql(sql, config.get('sql_header', none)) %}
  {{ return(adapter.keeps_columns(existing, empty)) }}
{% endmacro %}
