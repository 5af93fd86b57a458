"""The trees of state files that Salt and Rocksalt both read, as {path: text}."""
import os

import configuration
import places

APPLY = """\
{% for number in range(1, @FILES@ + 1) %}
file {{ number }}:
  file.managed:
    - name: @FOLDER@/file{{ '%03d' | format(number) }}
    - mode: '{{ '0640' if number % 2 else '0600' }}'
    - contents: |
        host = {{ grains['id'] }}
        file = {{ number }}
        value = {{ number * number }}
{% endfor %}
{% for number in range(1, @COMMANDS@ + 1) %}
command {{ number }}:
  cmd.run:
    - name: echo {{ number }} >> @FOLDER@/command{{ number }}
    - creates: @FOLDER@/command{{ number }}
{% endfor %}
"""

PART = """\
{% set part, half = @PART@, @HALF@ %}
{% for step in range(half) %}
chain-{{ part }}-{{ step }}:
  file.managed:
    - name: /nowhere/chain/{{ part }}/{{ step }}
    - mode: '0644'
    - contents: 'value {{ part }} {{ step }}'
    {% if step > 0 %}
    - require:
      - file: chain-{{ part }}-{{ step - 1 }}
    {% elif part > 0 %}
    - require:
      - file: chain-{{ part - 1 }}-{{ half - 1 }}
    {% endif %}
{% endfor %}
{% for step in range(half) %}
fan-{{ part }}-{{ step }}:
  cmd.run:
    - name: echo {{ part }} {{ step }}
    - unless: test -e /nowhere/{{ step }}
    - require:
      - file: chain-{{ part }}-0
{% endfor %}
"""


def write(folder, files):
    """Writes a tree; returns its folder, for `file_roots`."""
    for path, text in files.items():
        places.write(os.path.join(folder, path), text)
    return folder


def apply():
    """The sls `apply`, which creates what `configuration` describes."""
    folder = configuration.FOLDER.replace("{id}", "{{ grains['id'] }}")
    return {"apply.sls": _fill(APPLY, FILES=configuration.FILES, COMMANDS=configuration.COMMANDS, FOLDER=folder)}


def many(size):
    """The sls `many`: half of the states are a chain through all files, half require the first state of their file."""
    parts = range(size.files)
    tree = {"many/init.sls": "include:\n" + "".join(f"  - many.part{part}\n" for part in parts)}
    for part in parts:
        include = f"include:\n  - many.part{part - 1}\n" if part else ""
        tree[f"many/part{part}.sls"] = include + _fill(PART, PART=part, HALF=size.states // size.files // 2)
    return tree


def slow(folder, steps, seconds, parallel, touches=False):
    """The sls `slow`: steps (name, required name or None) that sleep, and that record their start and end."""
    lines = []
    for name, required in steps:
        stamp = os.path.join(folder, name)
        script = f"date +%s.%N > {stamp}.start && sleep {seconds} && date +%s.%N > {stamp}.end"
        lines += [f"{name}:", "  cmd.run:", f"    - name: {script}"]
        lines += ["    - require:", f"      - cmd: {required}"] if required else []
        lines += ["    - parallel: True"] if parallel else []
        lines += ["    - touches:", f"      - {stamp}.start", f"      - {stamp}.end"] if touches else []
    return {"slow.sls": "\n".join(lines) + "\n"}


def _fill(text, **values):
    for name, value in values.items():
        text = text.replace(f"@{name}@", str(value))
    return text
