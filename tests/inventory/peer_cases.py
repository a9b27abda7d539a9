"""Inventories on which stock Ansible and we must agree: a name, the sources, and the files (see ``tree.plant``)."""

from __future__ import annotations

CASES: dict[str, tuple[list[str], str]] = {
    "ini": (
        ["hosts"],
        """\
== hosts
; comment
# comment
solo ansible_host=10.0.0.1 a=1 b="x y" c='1' d=[1,2] e={'k':1} f=true g=True h=None i=0x10 j=1.50 k=007 l="'1'" m=a#b n=#c o=-5 p=1e3
v6host:2222
[fe80::1]:22
10.1.2.3:23
user@odd:5
web[01:03] z="a=b" y='{"a": [1, true]}' x=yes
[grp:vars]
a=1
b = "x y"
c = '1'
d=[1, 2]
e=true
f=True
g=1 # comment
h=foo # comment
i=foo #bar
j =  spaced
k={{ x }}
l="{{ x }}"
m=10.0
n=
o = a = b
p=(1, 2)
q={"a": 1}
r='it''s'
s=0644
t=1_000
u=''
[grp]
n[a:c] p=1
db-[1:6:2].x
[grp:children]
sub # comment
[sub]
s1
[sub2:children]
sub
[sub2]
s2
""",
    ),
    "yaml": (
        ["hosts.yml"],
        """\
== hosts.yml
all:
  vars: {x: 1, t: 12.10, m: 0644, o: 0o17, ansible_group_priority: 5}
  hosts:
    h0:
    h1: {a: yes, b: "yes", d: 2020-01-01, n: ~, u: !unsafe "{{ x }}", l: [1, [2]], w: {deep: {er: 1}}}
    "web[1:2]:2222": {p: 1}
  children:
    g1:
      hosts: h1
      children:
        g2: {hosts: {h2: }}
        g3:
      vars: {k: g1, ansible_group_priority: 3}
ungrouped: {hosts: {u1: }}
top: {children: g2}
""",
    ),
    "several sources and folders": (
        ["inv", "other/h.yml", "a,b"],
        """\
== inv/01-hosts.ini
zeta
[web]
w[1:3] v=line
[db]
d1
d2 ansible_host=1.2.3.4
[prod:children]
web
db
[web:vars]
v=iniweb
gv=inv
[prod:vars]
ansible_group_priority=10
gv=prod
lvl=prod
[x1]
w1
[x1:vars]
lvl=x1
q=1
[x2]
w1
[x2:vars]
lvl=x2
ansible_group_priority=5
q=2
== inv/02.yml
db: {hosts: {d3: {v: y}}, vars: {gv: two}}
web: {vars: {v: fromyaml}}
== inv/notes.md
junk
== inv/.hidden.yml
x: [
== inv/group_vars/all
gv: file-all
allv: 1
lvl: fileall
== inv/group_vars/web/a.yml
gv: web-a
== inv/group_vars/web/b.yml
gv: web-b
wb: 1
== inv/group_vars/web/c.txt
gv: bad
== inv/group_vars/web/sub/z
sub: 1
== inv/group_vars/web/j.json
{"j": 1.50}
== inv/group_vars/web/.h.yml
gv: hidden
== inv/group_vars/db.yaml
gv: db.json
== inv/group_vars/db.yml
gv: dbyml
== inv/group_vars/prod.yml
gv: prodfile
== inv/host_vars/w1.yml
hv: 1
== inv/host_vars/w2/main.yml
hv: 2
== inv/host_vars/d2.json
{"hv": 3}
== other/h.yml
all: {hosts: {w1: {o: 1}, new: }, vars: {av: 2}}
web: {children: {front: {hosts: {f1: }}}}
== other/group_vars/web.yml
gv: other-web
o: file
== other/group_vars/all.yml
gv: other-all
""",
    ),
    "nested folders": (
        ["inv"],
        """\
== inv/sub/a
n1
== inv/b
[g]
n2
== inv/group_vars/all.yml
x: top
== inv/sub/group_vars/all.yml
y: sub
""",
    ),
    "depth and priority": (
        ["h.yml"],
        """\
== h.yml
a: {vars: {v: a, w: a}, children: {b: {vars: {v: b}, children: {c: {hosts: {x: , y: }, vars: {v: c}}}}}}
d: {vars: {v: d, w: d}, children: {c: }}
e: {vars: {v: e, w: e, ansible_group_priority: 9}, hosts: {x: {h: 1}}}
f: {vars: {v: f, w: f}, hosts: {x: {h: 2}}, children: {b: }}
""",
    ),
    "script": (
        ["cloud"],
        """\
== cloud
#!/bin/sh
cat <<'END'
{"web": ["a", "b"], "db": {"hosts": ["c"], "vars": {"x": "{{ 1+1 }}", "p": 1}, "children": ["sub"]}, "only": {"foo": 1},
 "z": {"vars": {"k": 1}}, "_meta": {"hostvars": {"a": {"x": "{{ 1+1 }}", "n": 12.10}, "zz": {"q": 1}}}}
END
""",
    ),
    "script without _meta": (
        ["cloud"],
        """\
== cloud
#!/bin/sh
if [ "$1" = --list ]; then echo '{"web": {"hosts": ["a", "b"]}}'; else echo "{\\"name\\": \\"$2\\"}"; fi
""",
    ),
    "constructed": (
        ["h.yml", "z.yml"],
        """\
== h.yml
all:
  vars: {av: 1, env: "{{ e2 }}"}
  hosts: {h0: {n: 1}}
  children:
    g1:
      vars: {gv: x-y, e2: prod}
      hosts:
        h1: {os: deb.12, labels: [a, b], d: {k1: v1, k2: ""}}
        h2: {os: rh, empty: ""}
== z.yml
plugin: ansible.builtin.constructed
strict: false
compose:
  c1: av | default('noav')
  c2: gv ~ 'x'
  c3: "'lit'"
  c4: env
  c5: inventory_hostname
  c6: group_names
groups:
  hasos: os is defined
  bad: undefinedvar
  e: n is defined and n == 1
keyed_groups:
  - {key: os, prefix: os}
  - {key: labels, prefix: label}
  - {key: d, prefix: d, separator: "-"}
  - {key: d, prefix: t, trailing_separator: false}
  - {key: empty, prefix: em, default_value: none}
  - {key: os, prefix: ""}
  - {key: os, separator: ""}
  - {key: gv, parent_group: par}
  - {key: c5, prefix: made, parent_group: "p_{{ inventory_hostname }}"}
""",
    ),
    "constructed without leading separator": (
        ["h", "z.yml"],
        """\
== h
a os=deb
[g:vars]
k=v
[g]
b os=rh
== group_vars/g.yml
fromfile: yes-it-is
== z.yml
plugin: constructed
leading_separator: false
use_vars_plugins: true
keyed_groups:
  - key: os
  - key: fromfile
    prefix: f
  - key: k
""",
    ),
    "generator": (
        ["gen.yml"],
        """\
== gen.yml
plugin: generator
hosts:
  name: "{{ operation }}_{{ application }}_{{ stage }}_runner"
  parents:
    - name: "{{ operation }}_{{ application }}_{{ stage }}"
      parents:
        - name: "{{ operation }}_{{ application }}"
          parents: [{name: "{{ operation }}"}, {name: "{{ application }}"}]
        - name: "{{ application }}_{{ stage }}"
          parents:
            - name: "{{ application }}"
              vars: {application: "{{ application }}"}
            - name: "{{ stage }}"
              vars: {stage: "{{ stage }}"}
    - name: runner
layers:
  operation: [build, launch]
  stage: [dev, prod]
  application: [web, api]
""",
    ),
    "toml": (
        ["h.toml"],
        """\
== h.toml
[all.vars]
has_java = false
[web]
children = ["apache", "nginx"]
vars = { http_port = 8080, myvar = 23, f = 1.50 }
[web.hosts]
host1 = {}
host2 = { ansible_port = 222 }
[apache.hosts]
tomcat1 = {}
"t[1:2]:33" = { myvar = 34 }
[nginx.hosts]
jenkins1 = {}
""",
    ),
    "host list": (["a,b:22,10.0.0.1"], ""),
    "localhost": (["h"], "== h\nlocalhost x=1\n[g]\nlocalhost\nother\n"),
}

PATTERN_FILES = CASES["several sources and folders"][1] + "== limit\nw1\n\n d1 \n~w[23]\n"
PATTERN_SOURCES = ["inv", "other/h.yml"]
PATTERNS = [
    "all", "*", "web", "web:db", "db:web", "web,db", "web:&x1", "web:!w1", "!w1", "&x1",
    "all:!web", "w*", "~w[12]", "~d", "web[0]", "web[-1]", "web[1:2]", "web[1-2]", "web[0:]", "w1",
    "w1,w2", "w1:w2", "d2,w1,zeta", "ungrouped", "localhost", "127.0.0.1", "localhost:w1", "nope", "nope:w1", "w[1-2]",
    "w[12]", "*1", "?1", "w?:!w2:&web", "prod:&web", "prod[0]:prod[3]", "x*", "all[0]", "all[-1]", "~(web|db)",
    "~^d2$", "w1:&web:!x2", "d*:w*", "front", "*[0]", "w*[1]", "!web", "all:!web:!db", "zeta[0]", "w1[0]",
    "::1", "fe80::1", "web*", "we?", "~we", "*.example.com", "w.", "all:!nope", "web:&nope", "w1:22",
    "web:x1[0]", "web[0],db[1]",
]  # fmt: skip
LIMITS = (None, "w1", "web:!w2", "nope", "*2", "!d1", "w1,d*", "@limit")
