//! Rule-based policies that work as models do: offline, from the wire alone.
