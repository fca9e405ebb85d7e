{#- A table is replaced in one transaction: nobody sees it missing. Views of it stay, unless they
    may need what the new one does not have: they are dropped with the old table, as by CASCADE. -#}
{% macro raydb__replace_table(existing, target, sql) %}
  {% set contract = config.get('contract') %}
  {% if existing is none or not (contract.enforced or existing.is_view) and raydb__keeps_columns(existing, sql) %}
    {% call statement('main') %}
      {{ get_create_table_as_sql(False, target, sql) }}
    {% endcall %}
  {% else %}
    {% set new = make_intermediate_relation(target) %}
    {% do drop_relation_if_exists(load_cached_relation(new)) %}
    {% call statement('main') %}
      {{ get_create_table_as_sql(False, new, sql) }}
    {% endcall %}
    {% do adapter.drop_relation(existing) %}
    {% do adapter.rename_relation(new, target) %}
  {% endif %}
  {% do create_indexes(target) %}
{% endmacro %}

{% materialization table, adapter='raydb', supported_languages=['sql'] %}
  {% set existing = load_cached_relation(this) %}
  {% set target = this.incorporate(type='table') %}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {% do raydb__replace_table(existing, target, sql) %}
  {% do apply_grants(target, config.get('grants')) %}
  {% do persist_docs(target, model) %}

  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {% do adapter.commit() %}
  {{ run_hooks(post_hooks, inside_transaction=False) }}
  {{ return({'relations': [target]}) }}
{% endmaterialization %}
