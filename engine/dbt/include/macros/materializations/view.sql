{% materialization view, adapter='raydb' %}
  {% set existing = load_cached_relation(this) %}
  {% set target = this.incorporate(type='view') %}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {% if existing is not none and not (existing.is_view and raydb__keeps_columns(existing, sql)) %}
    {% do adapter.drop_relation(existing) %}
  {% endif %}
  {% call statement('main') %}
    {{ get_create_view_as_sql(target, sql) }}
  {% endcall %}
  {% do apply_grants(target, config.get('grants')) %}
  {% do persist_docs(target, model) %}

  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {% do adapter.commit() %}
  {{ run_hooks(post_hooks, inside_transaction=False) }}
  {{ return({'relations': [target]}) }}
{% endmaterialization %}
