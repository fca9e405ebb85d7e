{#- The rows of a run are put into a temporary table, and from there into the table. -#}
{% macro raydb__add_rows(existing, target, sql, strategy) %}
  {% set new = make_temp_relation(target) %}
  {% set on_schema_change = incremental_validate_on_schema_change(config.get('on_schema_change'), default='ignore') %}

  {% call statement('new_rows') %}
    {{ get_create_table_as_sql(True, new, sql) }}
  {% endcall %}
  {% set columns = process_schema_changes(on_schema_change, new, existing) or adapter.get_columns_in_relation(existing) %}
  {% call statement('main') %}
    {{ strategy({
      'target_relation': target,
      'temp_relation': new,
      'unique_key': config.get('unique_key'),
      'dest_columns': columns,
      'incremental_predicates': config.get('predicates') or config.get('incremental_predicates'),
    }) }}
  {% endcall %}
  {% call statement('drop_new_rows') %}
    drop table {{ new }}
  {% endcall %}
{% endmacro %}

{% materialization incremental, adapter='raydb', supported_languages=['sql'] %}
  {% set existing = load_cached_relation(this) %}
  {% set target = this.incorporate(type='table') %}
  {% set strategy = adapter.get_incremental_strategy_macro(context, config.get('incremental_strategy') or 'default') %}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {% if existing is none or existing.is_view or should_full_refresh() %}
    {% do raydb__replace_table(existing, target, sql) %}
  {% else %}
    {% do raydb__add_rows(existing, target, sql, strategy) %}
  {% endif %}
  {% do apply_grants(target, config.get('grants')) %}
  {% do persist_docs(target, model) %}

  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {% do adapter.commit() %}
  {{ run_hooks(post_hooks, inside_transaction=False) }}
  {{ return({'relations': [target]}) }}
{% endmaterialization %}

{% macro raydb__get_incremental_default_sql(arg_dict) %}
  {{ return(get_incremental_delete_insert_sql(arg_dict) if arg_dict['unique_key'] else get_incremental_append_sql(arg_dict)) }}
{% endmacro %}

{#- The rows of a batch of time give way to the new ones. -#}
{% macro raydb__get_incremental_microbatch_sql(arg_dict) %}
  {%- set target = arg_dict['target_relation'] -%}
  {%- set time = config.get('event_time') -%}
  {%- set conditions = [] + (arg_dict['incremental_predicates'] or []) -%}
  {%- if model.batch and model.batch.event_time_start -%}
    {%- do conditions.append(time ~ " >= timestamptz '" ~ model.batch.event_time_start ~ "'") -%}
  {%- endif -%}
  {%- if model.batch and model.batch.event_time_end -%}
    {%- do conditions.append(time ~ " < timestamptz '" ~ model.batch.event_time_end ~ "'") -%}
  {%- endif %}
  delete from {{ target }} where {{ conditions | join(' and ') }};
  {{ get_insert_into_sql(target, arg_dict['temp_relation'], arg_dict['dest_columns']) }}
{% endmacro %}
