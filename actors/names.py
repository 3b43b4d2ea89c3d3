"""The names under which the admin knows the two actors that have one."""

SCHEDULER = "bellringer-scheduler"
SUPERVISOR = "bellringer-supervisor"
