{% macro raydb__list_schemas(database) %}
  {% set sql %}
    select schema_name from information_schema.schemata where catalog_name = '{{ database | replace('"', '') }}'
  {% endset %}
  {{ return(run_query(sql)) }}
{% endmacro %}

{% macro raydb__check_schema_exists(information_schema, schema) %}
  {% set sql %}
    select count(*) from information_schema.schemata
    where catalog_name = '{{ information_schema.database }}' and lower(schema_name) = lower('{{ schema }}')
  {% endset %}
  {{ return(run_query(sql)) }}
{% endmacro %}

{% macro raydb__list_relations_without_caching(schema_relation) %}
  {% set sql %}
    select
      table_catalog as database,
      table_name as name,
      table_schema as schema,
      case table_type when 'VIEW' then 'view' else 'table' end as type
    from information_schema.tables
    where table_catalog = '{{ schema_relation.database }}'
      and lower(table_schema) = lower('{{ schema_relation.schema }}')
  {% endset %}
  {{ return(run_query(sql)) }}
{% endmacro %}

{% macro raydb__get_columns_in_relation(relation) %}
  {% set sql %}
    select column_name, declared_type, null, null, null
    from information_schema.columns
    where table_catalog = '{{ relation.database }}'
      and lower(table_schema) = lower('{{ relation.schema }}')
      and lower(table_name) = lower('{{ relation.identifier }}')
    order by ordinal_position
  {% endset %}
  {{ return(sql_convert_columns_in_relation(run_query(sql))) }}
{% endmacro %}

{#- The columns of dbt's catalog, of the tables and views that a condition names. -#}
{% macro raydb__catalog_of(database, condition) %}
  {% set sql %}
    select
      t.table_catalog as table_database,
      t.table_schema,
      t.table_name,
      t.table_type,
      cast(null as varchar) as table_comment,
      c.column_name,
      c.ordinal_position as column_index,
      c.declared_type as column_type,
      cast(null as varchar) as column_comment,
      cast(null as varchar) as table_owner
    from information_schema.tables as t
    join information_schema.columns as c
      on c.table_catalog = t.table_catalog
      and c.table_schema = t.table_schema
      and c.table_name = t.table_name
    where t.table_catalog = '{{ database }}' and ({{ condition }})
    order by t.table_schema, t.table_name, c.ordinal_position
  {% endset %}
  {{ return(run_query(sql)) }}
{% endmacro %}

{% macro raydb__get_catalog(information_schema, schemas) %}
  {% set conditions = [] %}
  {% for schema in schemas %}
    {% do conditions.append("lower(t.table_schema) = lower('" ~ schema ~ "')") %}
  {% endfor %}
  {{ return(raydb__catalog_of(information_schema.database, conditions | join(' or '))) }}
{% endmacro %}

{% macro raydb__get_catalog_relations(information_schema, relations) %}
  {% set conditions = [] %}
  {% for relation in relations %}
    {% do conditions.append(raydb__is_relation(relation)) %}
  {% endfor %}
  {{ return(raydb__catalog_of(information_schema.database, conditions | join(' or '))) }}
{% endmacro %}

{% macro raydb__get_catalog_for_single_relation(relation) %}
  {{ return(raydb__catalog_of(relation.database, raydb__is_relation(relation))) }}
{% endmacro %}

{% macro raydb__is_relation(relation) %}
  {%- set schema = "lower(t.table_schema) = lower('" ~ relation.schema ~ "')" -%}
  {%- if relation.identifier -%}
    {{ return("(" ~ schema ~ " and lower(t.table_name) = lower('" ~ relation.identifier ~ "'))") }}
  {%- endif -%}
  {{ return(schema) }}
{% endmacro %}
