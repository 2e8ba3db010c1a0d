"""How the extremes of a reward over all policies that match are found; `worst_case` is the way in.

- `bundle`: a cutting-plane method whose cuts are policies (`blocks`), with an active-set method of
  its own (`master`)
- `programs`: linear and cone programs over occupancies, in the forms of `program_forms`
"""
