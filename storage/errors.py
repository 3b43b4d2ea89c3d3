"""Every error that Bellringer raises on purpose. Each says what happened, to which job, and what to do."""


class BellringerError(Exception):
    """The base of all of them."""


class InvalidJobError(BellringerError, ValueError):
    """An input was refused at the door; nothing was stored."""


class StorageError(BellringerError):
    """The database could not do what was asked. Nothing of the transaction happened.

    `fatal` tells whether trying again can help.
    """

    fatal = False


class StorageBusyError(StorageError):
    """Another process holds the write lock. Trying again helps."""


class StorageFullError(StorageError):
    """The disk, or the database's size limit, is full. Trying again helps once there is room."""


class StorageReadOnlyError(StorageError):
    """The file or its folder can't be written."""

    fatal = True


class StorageCorruptError(StorageError):
    """The file is not a healthy Bellringer database."""

    fatal = True


class StorageLostError(StorageError):
    """The file was removed, replaced or cut short while it was open: what is written now would be lost."""

    fatal = True


class NewerSchemaError(StorageError):
    """The file was written by a later version."""

    fatal = True


class DatabaseInUseError(StorageError):
    """Another scheduler owns this database."""

    fatal = True


class ImpossibleTransitionError(BellringerError):
    """The caller asked for a change of state that the table of states does not hold: a mistake in the program."""


class WrongOwnerError(BellringerError):
    """A store was used from another thread, or from a forked child, than the one that opened it."""
