"""Users and what they may do. The bodies say the rest."""

from braidmq.protocols.rocketmq.codec.headers._base import CustomHeader


class CreateAclRequestHeader(CustomHeader, kw_only=True):
    subject: str | None = None


class CreateUserRequestHeader(CustomHeader, kw_only=True):
    username: str | None = None


class DeleteAclRequestHeader(CustomHeader, kw_only=True):
    subject: str | None = None
    policy_type: str | None = None
    resource: str | None = None


class DeleteUserRequestHeader(CustomHeader, kw_only=True):
    username: str | None = None


class GetAclRequestHeader(CustomHeader, kw_only=True):
    subject: str | None = None


class GetUserRequestHeader(CustomHeader, kw_only=True):
    username: str | None = None


class ListAclsRequestHeader(CustomHeader, kw_only=True):
    subject_filter: str | None = None
    resource_filter: str | None = None


class ListUsersRequestHeader(CustomHeader, kw_only=True):
    filter: str | None = None


class UpdateAclRequestHeader(CustomHeader, kw_only=True):
    subject: str | None = None


class UpdateUserRequestHeader(CustomHeader, kw_only=True):
    username: str | None = None
