"""``tf.flags``, also ``tf.app.flags``: command-line flags."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.platform.flags":
        "FLAGS DEFINE DEFINE_alias DEFINE_bool DEFINE_boolean DEFINE_enum DEFINE_enum_class DEFINE_flag DEFINE_float DEFINE_integer DEFINE_list "
        "DEFINE_multi DEFINE_multi_enum DEFINE_multi_enum_class DEFINE_multi_float DEFINE_multi_integer DEFINE_multi_string DEFINE_spaceseplist "
        "DEFINE_string ArgumentParser ArgumentSerializer BaseListParser BooleanFlag BooleanParser CantOpenFlagFileError CsvListSerializer "
        "DuplicateFlagError EnumClassFlag EnumClassParser EnumFlag EnumParser Error Flag FlagHolder "
        "FlagNameConflictsWithMethodError FlagValues FloatParser IllegalFlagValueError IntegerParser ListParser ListSerializer "
        "MultiEnumClassFlag MultiFlag UnparsedFlagAccessError UnrecognizedFlagError ValidationError WhitespaceSeparatedListParser "
        "adopt_module_key_flags declare_key_flag disclaim_key_flags doc_to_help flag_dict_to_args get_help_width "
        "mark_bool_flags_as_mutual_exclusive mark_flag_as_required mark_flags_as_mutual_exclusive mark_flags_as_required "
        "multi_flags_validator register_multi_flags_validator register_validator set_default text_wrap validator",
}
publish(__name__, TABLE)
