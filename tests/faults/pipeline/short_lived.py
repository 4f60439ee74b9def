"""Settings of Spark for drivers that are killed seconds after their first batch: what makes them fast later would only
make them late now."""

SHORT_LIVED = {
    "spark.log.level": "ERROR",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
